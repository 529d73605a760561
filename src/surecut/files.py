"""Files that are there whole or not at all."""

import os
from contextlib import suppress
from pathlib import Path

from surecut.errors import InputError


def write_atomically(path: str | Path, content: str | bytes) -> None:
    """Write a file so that it is there whole or not at all; a link is followed, a pipe or device is written to."""
    data = content.encode() if isinstance(content, str) else content
    try:
        if Path(path).is_fifo() or Path(path).is_char_device():  # /dev/stdout may lead to a pipe that has no path
            Path(path).write_bytes(data)
        else:
            _replace(Path(os.path.realpath(path)), data)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None


def refuse_unwritable(path: str | Path) -> None:
    """Say at once that a file cannot be written, before hours are spent on what is to be in it."""
    if str(path) == "-":
        raise InputError("-: name a file; what may go to standard output goes there without -o")
    try:
        if Path(path).is_fifo() or Path(path).is_char_device():
            return
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise InputError(f"{path}: cannot be written (is a folder: name a file)")
    if not target.parent.is_dir():
        raise InputError(f"{path}: cannot be written (there is no folder {target.parent})")
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise InputError(f"{path}: cannot be written (not permitted)")


def refuse_overwriting(path: str | Path, read: str | Path) -> None:
    """Say that a file is about to replace the one it is made from."""
    if os.path.exists(path) and os.path.exists(read) and os.path.samefile(path, read):
        raise InputError(f"{path}: is what is read: name another file to write")


def refuse_no_folder(path: str | Path) -> None:
    """Say at once that a folder cannot be made, or written to."""
    there = Path(os.path.realpath(path))
    while not there.exists():
        there = there.parent
    if not there.is_dir():
        raise InputError(f"{path}: cannot be made ({there} is a file)")
    if not os.access(there, os.W_OK):
        raise InputError(f"{path}: cannot be written (not permitted)")


def _replace(target: Path, data: bytes) -> None:
    temporary = target.parent / f".{target.name}.{os.getpid()}.part"
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())  # else a power failure may leave an empty file in the old one's place
        os.replace(temporary, target)
    finally:
        with suppress(OSError):
            temporary.unlink()


def remove_leftovers(folder: Path, name: str) -> None:
    """Remove what a process that was killed while it wrote files of such a name left; nobody else may be writing."""
    for path in folder.glob(f".{name}.*.part"):
        path.unlink(missing_ok=True)
