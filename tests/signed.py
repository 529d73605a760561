"""Keys and certificates signed with them, made once."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import surecut as sc
from surecut.keyfiles import PASSPHRASE, write_new_key

FOLDER = TemporaryDirectory()


def key(name: str = "own") -> Path:
    """A private key; its public key lies beside it."""
    path = Path(FOLDER.name) / f"{name}.pem"
    if not path.exists():
        with pytest.MonkeyPatch.context() as patch:
            patch.delenv(PASSPHRASE, raising=False)
            write_new_key(path)
    return path


def public(name: str = "own") -> Path:
    return key(name).with_suffix(".pub.pem")


@cache
def certificate() -> sc.Certificate:
    """One that is not signed."""
    return sc.calibrate(sc.simulate(queries=200, depth=20, seed=5), target=sc.max_drop(0.3))


def signed(name: str = "own") -> sc.Certificate:
    return sc.sign(certificate(), key(name))
