"""surecut sign"""

from pathlib import Path
from typing import Annotated

import typer

from surecut.cli import options as o
from surecut.errors import InputError

HELP = """Sign a certificate with an Ed25519 key, so that who trusts the key can tell it from any other.

The signature goes into the certificate's own file. An encrypted key is opened with SURECUT_KEY_PASSPHRASE.

Example: surecut sign cert.json --key key.pem

Example: surecut sign --new-key key.pem, then keep key.pem to yourself and give key.pub.pem to who is to trust it
"""


def sign(
    certificate: Annotated[
        Path | None, typer.Argument(metavar="cert.json", help="The certificate to sign (- is stdin).")
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option("--key", metavar="key.pem", help="The private key; one made by openssl will do."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="signed.json",
            help="Where to write it, if not where it was (of stdin: standard output).",
            rich_help_panel=o.OUTPUT,
        ),
    ] = None,
    new_key: Annotated[
        Path | None,
        typer.Option(
            "--new-key",
            metavar="key.pem",
            help="Make a key instead: this file, for its owner only, and key.pub.pem beside it.",
        ),
    ] = None,
) -> None:
    if new_key is not None:
        if certificate is not None or key is not None or output is not None:
            raise InputError("--new-key makes a key and signs nothing: give it alone")
        _make(new_key)
    elif certificate is None or key is None:
        raise InputError("give a certificate and a key (surecut sign cert.json --key key.pem), or --new-key key.pem")
    else:
        _sign(certificate, key, output)


def _make(path: Path) -> None:
    from surecut.cli.printing import err
    from surecut.keyfiles import write_new_key

    key, public = write_new_key(path)
    told = f"key {key.fingerprint}: written to {path} (keep it to yourself) and {public} (for who is to trust it)"
    err.print(told, style="dim", soft_wrap=True, markup=False)


def _sign(path: Path, key: Path, output: Path | None) -> None:
    from surecut import signing
    from surecut.cli.loading import load_to_sign
    from surecut.cli.printing import err, print_text
    from surecut.files import refuse_unwritable

    target = output or (None if str(path) == "-" else path)
    if target is not None:
        refuse_unwritable(target)
    loaded = load_to_sign(path)
    signed = signing.sign(loaded, key)
    if target is None:
        print_text(signed.to_json())
    else:
        signed.save(target)
    assert signed.signature is not None
    before = "" if loaded.signature is None else f", in place of key {loaded.signature.key.fingerprint}"
    where = "" if target is None else f"; written to {target}"
    err.print(
        f"signed with key {signed.signature.key.fingerprint}{before}{where}", style="dim", soft_wrap=True, markup=False
    )
