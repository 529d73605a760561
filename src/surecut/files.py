"""Files that are there whole or not at all."""

import os
from contextlib import suppress
from pathlib import Path

from surecut.errors import InputError


def write_atomically(path: str | Path, content: str | bytes) -> None:
    """Write a file so that it is there whole or not at all; a link is followed, a pipe or device is written to."""
    target = Path(os.path.realpath(path))
    temporary = target.parent / f".{target.name}.{os.getpid()}.part"
    try:
        through = target.is_fifo() or target.is_char_device()
        with (target if through else temporary).open("wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            if not through:
                file.flush()
                os.fsync(file.fileno())  # else a power failure may leave an empty file in the old one's place
                os.replace(temporary, target)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from None
    finally:
        with suppress(OSError):
            temporary.unlink()
