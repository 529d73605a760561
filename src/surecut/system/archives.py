"""Zip archives, of which a file is read without being unpacked; none becomes more than it may."""

import io
import struct
import zipfile
from pathlib import Path

from surecut.errors import InputError
from surecut.io.unpacking import Bounded

_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # of the others zipfile unpacks gigabytes in one step


def opened_member(path: Path, member: str) -> io.BufferedReader:
    """The file of that name, in the folder nearest to the top; FileNotFoundError where there is none."""
    try:
        archive = zipfile.ZipFile(path)
        inside = [each for each in archive.infolist() if f"/{each.filename}".endswith(f"/{member}")]
        if not inside:
            raise FileNotFoundError(member)
        found = min(inside, key=lambda each: len(each.filename))
        if found.compress_type not in _METHODS:
            raise InputError(f"{path}: {member} is packed in a way that is not read here; pack it with deflate")
        packed = min(found.compress_size, path.stat().st_size)
        return io.BufferedReader(Bounded(archive.open(found), lambda: packed, f"{path}/{member}"), 1 << 20)
    except (zipfile.BadZipFile, RuntimeError, EOFError, struct.error, OverflowError) as error:
        raise InputError(f"{path}: {error}") from None  # a password is a RuntimeError, an unknown way of packing too
