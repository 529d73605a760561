"""Signatures: who vouches for a certificate. Ed25519, by the `cryptography` library.

A signature is over everything the certificate says, and stands beside it in the same file. It is looked at where keys
are trusted, and nowhere else: a key that nobody trusts vouches for nothing.
"""

import base64
import binascii
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from surecut.errors import InputError
from surecut.extras import needed
from surecut.keyfiles import KEY_BYTES, PublicKey, read_private_key, read_public_keys

if TYPE_CHECKING:
    from surecut.certificate import Certificate

TRUSTED_KEYS = "SURECUT_TRUSTED_KEYS"
"""The environment variable that names a file of trusted public keys."""

Trusted = str | Path | Iterable[PublicKey] | Literal[False] | None
"""A PEM file of public keys, or such keys; None is the file that the environment names, False asks for no signature."""

_ALGORITHM = "ed25519"
_SIGNATURE_BYTES = 64
_DOMAIN = b"surecut certificate signature 1\n"  # no other program signs what begins so


@dataclass(frozen=True)
class Signature:
    """A signature and the key it was made with."""

    key: PublicKey
    value: bytes

    @classmethod
    def from_json(cls, record: Any, source: str) -> "Signature":
        """Read what a file holds; whether it fits is another question."""
        if not isinstance(record, dict) or set(record) != {"algorithm", "key", "value"}:
            raise InputError(f"{source}: the signature needs 'algorithm', 'key' and 'value', and nothing else")
        if record["algorithm"] != _ALGORITHM:
            raise InputError(f"{source}: signed by another algorithm than {_ALGORITHM}: upgrade surecut, or sign again")
        key, value = (_decoded(record[name], source) for name in ("key", "value"))
        if len(key) != KEY_BYTES or len(value) != _SIGNATURE_BYTES:
            raise InputError(f"{source}: the signature is too short or too long: sign the certificate again")
        return cls(PublicKey(key), value)

    def to_json(self) -> dict[str, str]:
        return {"algorithm": _ALGORITHM, "key": _encoded(self.key.raw), "value": _encoded(self.value)}


def sign(certificate: "Certificate", key: str | Path) -> "Certificate":
    """The certificate with a signature over everything it says, in place of any it had.

    `key` is the PEM file of an Ed25519 private key; the passphrase of an encrypted one is looked for in the
    environment, as SURECUT_KEY_PASSPHRASE.

    >>> sign(load_certificate("cert.json"), "key.pem").save("cert.json")  # doctest: +SKIP
    """
    private = read_private_key(key)
    public = PublicKey(private.public_key().public_bytes_raw())
    return replace(certificate, signature=Signature(public, private.sign(_message(certificate))))


def refuse_untrusted(certificate: "Certificate", trusted: Trusted, source: str) -> None:
    """Where keys are trusted, refuse what is not signed with one of them."""
    keys = _keys(trusted)
    if keys is None:
        return
    signature = certificate.signature
    if signature is None:
        raise InputError(
            f"{source}: not signed, and only what is signed with a trusted key is taken here (--trusted-keys, "
            f"{TRUSTED_KEYS}, trusted=): have it signed with `surecut sign`"
        )
    if signature.key not in keys:
        count = "the trusted key" if len(keys) == 1 else f"one of the {len(keys)} trusted keys"
        raise InputError(
            f"{source}: signed with key {signature.key.fingerprint}, which is not {count}: have it signed with a "
            "trusted key, or add this one if you know whose it is"
        )
    if not _fits(signature, certificate):
        raise InputError(
            f"{source}: the signature does not fit: the certificate was changed after it was signed, or the signature "
            "is another one's; get it again from whoever signed it"
        )


def asks_for_signatures(trusted: Trusted) -> bool:
    """Are any keys trusted, so that others are not?"""
    return _keys(trusted) is not None


def _keys(trusted: Trusted) -> tuple[PublicKey, ...] | None:
    if trusted is None:
        trusted = os.environ.get(TRUSTED_KEYS, False)
        if trusted == "":
            raise InputError(f"{TRUSTED_KEYS} is set, and names no file: name one of public keys, or unset it")
    if trusted is False:
        return None
    if isinstance(trusted, str | Path):
        return read_public_keys(trusted)
    keys = tuple(trusted) if isinstance(trusted, Iterable) else ()
    if not keys or not all(isinstance(key, PublicKey) for key in keys):
        raise InputError("trusted= is a file of public keys, or such keys (keyfiles.read_public_keys), or False")
    return keys


def _fits(signature: Signature, certificate: "Certificate") -> bool:
    ed25519 = needed("cryptography.hazmat.primitives.asymmetric.ed25519", "signing")
    invalid = needed("cryptography.exceptions", "signing").InvalidSignature
    try:
        ed25519.Ed25519PublicKey.from_public_bytes(signature.key.raw).verify(signature.value, _message(certificate))
    except invalid:
        return False
    return True


def _message(certificate: "Certificate") -> bytes:
    return _DOMAIN + certificate.canonical()


def _encoded(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _decoded(text: Any, source: str) -> bytes:
    """Base64 as it is written here: one text for one value."""
    try:
        value = base64.b64decode(text, validate=True)
        if _encoded(value) == text:
            return value
    except (binascii.Error, TypeError, ValueError):
        pass
    raise InputError(f"{source}: the signature is not base64: sign the certificate again")
