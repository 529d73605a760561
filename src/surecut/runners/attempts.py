"""Work that is done elsewhere: what goes wrong comes home as it is, and what ends its worker is found by halves."""

import os
import pickle
import shutil
import socket
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NoReturn
from uuid import uuid4

from surecut.errors import InputError, NothingGoesThrough
from surecut.system.cache import locked

TRIES = 3  # of an item that ends its worker
_FEW = 16  # parts of an item, the first ones, that may all be to blame
_PART = "-"  # in the names of parts
_LOADING = "-loading"  # behind the name of an item that is waiting for its worker to be ready
WHY = f"ended its worker {TRIES} times: out of memory, or a fault of the library"


@dataclass(frozen=True)
class _Raised:
    """An error on its way home: raised over there it would come wrapped in others."""

    error: Exception


def attempted(work: Callable[[Any], Any], item: Any, folder: str) -> Any:
    """Work where the command was given, so that relative names mean the same."""
    with suppress(OSError):
        os.chdir(folder)
    try:
        return work(item)
    except OSError as error:
        where = f"{error.filename or folder}: {error.strerror or error}, on {socket.gethostname()}"
        cure = "" if error.filename is None else ": every node needs the same files under the same names"
        return _Raised(InputError(f"{where}{cure}"))
    except InputError as error:
        return _Raised(error)
    except Exception as error:
        error.add_note(f"on {socket.gethostname()}:\n{traceback.format_exc()}")
        return _Raised(_portable(error))


def unwrapped(made: Any) -> Any:
    """What was made, or the error instead of it."""
    if isinstance(made, _Raised):
        raise made.error
    return made


def _portable(error: Exception) -> Exception:
    """The error, or its words where it cannot be sent."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


class Actor:
    """Holds what a worker needs, from its first item on.

    What is begun is noted in a folder that outlives the actor: an item that has ended its worker too often is divided,
    and what cannot be divided is given up. What ends with everything, or already when it loads its model, is no item's
    fault. A process in which nothing goes through any more, as on a device that an item has broken, ends itself.
    """

    def __init__(self, worker: bytes, folder: str, ledger: str) -> None:
        self._sent, self._folder, self._ledger = worker, folder, Path(ledger)
        self._worker: Any = None
        self._work: Any = None  # what the worker becomes once it is ready
        self._alive = False  # has anything gone through here?
        self._given_up = self._gone_through = 0  # parts of the present item

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        place = int(batch["place"][0])
        made = attempted(partial(self._whole, str(place)), pickle.loads(batch["item"][0]), self._folder)
        return {"place": [place], "made": [pickle.dumps(made)]}

    def _whole(self, name: str, item: Any) -> Any:
        if self._work is None:
            self._make_ready(self._ledger / f"{name}{_LOADING}")
        self._given_up = self._gone_through = 0
        return self._made(name, item)

    def _make_ready(self, note: Path) -> None:
        if _begun(note) > TRIES:
            raise InputError(f"to load the model or the index {WHY}: have workers enough memory?")
        import ray

        self._worker = ray.cloudpickle.loads(self._sent)
        self._work = self._worker()
        note.unlink(missing_ok=True)

    def _made(self, name: str, item: Any) -> Any:
        note = self._ledger / name
        begun = _begun(note)
        if begun > 1:
            self._alive = self._alive or self._work.alive()
            parts = self._worker.divided(item)
            if begun > TRIES or (parts and _PART in name):  # half of what is suspect is divided further at once
                return self._made_of(name, item, parts)
        try:
            made = self._work(item)
        except NothingGoesThrough:
            if begun > 1 and not self._alive:  # not in a process that was new, either
                raise
            _end_process()
        note.unlink(missing_ok=True)
        self._alive = True
        self._gone_through += 1
        return made

    def _made_of(self, name: str, item: Any, parts: Sequence[Any]) -> Any:
        if parts:
            return self._worker.joined(
                [self._made(f"{name}{_PART}{number}", part) for number, part in enumerate(parts)]
            )
        self._given_up += 1
        if self._given_up > _FEW and not self._gone_through:
            raise InputError(f"whatever a worker is given {WHY}: have workers enough memory?")
        return self._worker.given_up(item, WHY)


def _end_process() -> NoReturn:
    """So that Ray begins another one, with a device that works."""
    os._exit(1)


@contextmanager
def ledger_in(folder: Path) -> Iterator[Path]:
    """A folder for the notes of one job; those of jobs that were killed are removed."""
    folder.mkdir(parents=True, exist_ok=True)
    for lock in folder.glob("*.lock"):
        with suppress(InputError), locked(lock, busy="its job is under way"):
            _remove(lock)
    lock = folder / f"{uuid4().hex}.lock"
    with locked(lock):
        lock.with_suffix("").mkdir()
        try:
            yield lock.with_suffix("")
        finally:
            _remove(lock)


def _remove(lock: Path) -> None:
    shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
    lock.unlink(missing_ok=True)


def _begun(note: Path) -> int:
    """How often something was begun, this time included; once, where that cannot be noted."""
    try:
        with note.open("ab") as file:
            file.write(b".")
            return file.tell()
    except OSError:
        return 1
