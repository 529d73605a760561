"""Files that hold Ed25519 keys: PEM, as openssl writes them."""

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surecut.errors import InputError
from surecut.extras import needed
from surecut.files import refuse_unwritable
from surecut.io.limits import LARGEST_DOCUMENT, read_document

PASSPHRASE = "SURECUT_KEY_PASSPHRASE"
"""The environment variable with the passphrase of an encrypted private key."""

KEY_BYTES = 32
_DER_HEAD = bytes.fromhex("302a300506032b6570032100")  # what DER puts before the bytes of an Ed25519 public key
_PUBLIC = re.compile(rb"-----BEGIN PUBLIC KEY-----.*?-----END PUBLIC KEY-----", re.DOTALL)


@dataclass(frozen=True)
class PublicKey:
    """An Ed25519 public key."""

    raw: bytes

    @property
    def fingerprint(self) -> str:
        """The first 32 digits of the SHA-256 of its DER form."""
        return hashlib.sha256(_DER_HEAD + self.raw).hexdigest()[:32]


def read_public_keys(path: str | Path) -> tuple[PublicKey, ...]:
    """All keys of a file of public keys."""
    content = _read(path)
    if b"PRIVATE KEY-----" in content:
        raise InputError(f"{path}: holds a private key: trusted keys are public ones; keep that one where it is")
    blocks = _PUBLIC.findall(content)
    if not blocks or len(blocks) != content.count(b"-----BEGIN"):
        raise InputError(f"{path}: not a PEM file of whole public keys ('-----BEGIN PUBLIC KEY-----')")
    return tuple(PublicKey(_public(block, f"{path}, key {number}")) for number, block in enumerate(blocks, start=1))


def read_private_key(path: str | Path) -> Any:
    """The private key of a file; an encrypted one is opened with the passphrase in the environment."""
    form, content, passphrase = _forms(), _read(path), None
    fault = "not a private key in PEM (PKCS8); `surecut sign --new-key` makes one"
    if b"ENCRYPTED" in content:
        passphrase = os.environ.get(PASSPHRASE, "").encode()
        fault = f"the passphrase in {PASSPHRASE} does not open it"
        if not passphrase:
            raise InputError(f"{path}: the key is encrypted: put its passphrase in {PASSPHRASE}")
    try:
        key = form.load_pem_private_key(content, passphrase)
    except _unreadable():
        raise InputError(f"{path}: {fault}") from None
    if not isinstance(key, _ed25519().Ed25519PrivateKey):
        raise InputError(f"{path}: not an Ed25519 key; `surecut sign --new-key` makes one")
    return key


def write_new_key(path: str | Path) -> tuple[PublicKey, Path]:
    """Make a private key that only its owner may read, and its public key beside it; what is there stays."""
    refuse_unwritable(path)
    private, public = Path(path), Path(path).with_suffix(".pub.pem")
    for each in (private, public):
        if os.path.lexists(each):
            raise InputError(f"{each}: is there already, and keys are not overwritten: name another file")
    if os.environ.get(PASSPHRASE) == "":
        raise InputError(f"{PASSPHRASE} is set, and empty: give a passphrase, or unset it for a key without one")
    form, key, passphrase = _forms(), _ed25519().Ed25519PrivateKey.generate(), os.environ.get(PASSPHRASE, "").encode()
    closed = form.BestAvailableEncryption(passphrase) if passphrase else form.NoEncryption()
    shown = key.public_key()
    _create(private, key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, closed), 0o600)
    try:
        _create(public, shown.public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo), 0o644)
    except InputError:
        private.unlink()
        raise
    return PublicKey(shown.public_bytes_raw()), public


def _public(block: bytes, where: str) -> bytes:
    form = _forms()
    try:
        key = form.load_pem_public_key(block)
    except _unreadable():
        raise InputError(f"{where}: not a public key that can be read") from None
    if not isinstance(key, _ed25519().Ed25519PublicKey):
        raise InputError(f"{where}: not an Ed25519 key")
    raw: bytes = key.public_bytes_raw()
    return raw


def _forms() -> Any:
    return needed("cryptography.hazmat.primitives.serialization", "signing")


def _unreadable() -> tuple[type[Exception], ...]:
    """What the library raises for a key that it cannot read; its words are not passed on."""
    return ValueError, TypeError, needed("cryptography.exceptions", "signing").UnsupportedAlgorithm


def _ed25519() -> Any:
    return needed("cryptography.hazmat.primitives.asymmetric.ed25519", "signing")


def _read(path: str | Path) -> bytes:
    return read_document(path, LARGEST_DOCUMENT).encode()


def _create(path: Path, content: bytes, mode: int) -> None:
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            try:
                file.write(content)
                file.flush()
            except OSError:
                path.unlink()  # half a key would stand in the way of a whole one
                raise
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None
