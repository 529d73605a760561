"""Where collections, indexes and vectors are kept between runs, each built once."""

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from surecut.errors import InputError
from surecut.files import write_atomically

_DONE = "complete"


def cache_folder() -> Path:
    """$SURECUT_CACHE, or surecut's folder in the user's cache."""
    if named := os.environ.get("SURECUT_CACHE"):
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "surecut"


def digest(*facts: Any) -> str:
    """A short name for a list of plain facts."""
    return hashlib.blake2b(json.dumps(facts, sort_keys=True).encode(), digest_size=16).hexdigest()


def built(kind: str, key: str, build: Callable[[Path], None]) -> Path:
    """The folder of something that is built once; what an interrupted build left is handed to the next one."""
    folder = cache_folder() / kind / key
    if (folder / _DONE).exists():
        return folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{folder}: cannot be made ({error.strerror}); name another place with SURECUT_CACHE"
        ) from None
    with locked(folder / "lock"):
        if not (folder / _DONE).exists():
            try:
                build(folder)
            except OSError as error:
                raise InputError(f"{folder}: cannot be written ({error.strerror or error})") from None
            write_atomically(folder / _DONE, "")
    return folder


def kept(kind: str, key: str) -> Path:
    """The folder of something that was built before, here or on another node."""
    folder = cache_folder() / kind / key
    if not (folder / _DONE).exists():
        raise InputError(f"{folder}: is not there; the folder that SURECUT_CACHE names has to be that of every node")
    return folder


@contextlib.contextmanager
def intact(folder: Path) -> Iterator[None]:
    """Read what was built; files that are gone or damaged since are named, with what to do."""
    try:
        yield
    except InputError:
        raise
    except (OSError, ValueError, KeyError, EOFError, RuntimeError) as error:  # faiss raises the last
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"{folder}: damaged ({reason}); remove this folder, and it is built again") from None


@contextlib.contextmanager
def locked(path: Path, busy: str | None = None) -> Iterator[None]:
    """Hold a lock on a file while building; another process waits, or is told `busy`."""
    try:
        import fcntl
    except ImportError:  # a system without such locks: builds are still whole or not at all
        yield
        return
    try:
        file = path.open("w")
    except OSError as error:
        raise InputError(f"{path.parent}: cannot be written ({error.strerror or error})") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (fcntl.LOCK_NB if busy else 0))
        except BlockingIOError:
            raise InputError(str(busy)) from None
        yield
