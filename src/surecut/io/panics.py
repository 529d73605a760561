"""Panics of compiled libraries: an error like others, with nothing on standard error."""

import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

_STDERR = 2


@contextmanager
def panics_kept_quiet() -> Iterator[None]:
    """While this lasts, what is written to standard error waits; after a panic of polars it is dropped."""
    import polars as pl

    _stderr.hold()
    try:
        yield
    except pl.exceptions.PanicException:
        _stderr.panicked = True
        raise
    finally:
        _stderr.release()


class _StandardError:
    """The process's standard error, put aside from the first reader's coming to the last one's leaving."""

    def __init__(self) -> None:
        self.panicked = False
        self._lock, self._readers = threading.Lock(), 0
        self._aside: int | None = None
        self._written: IO[bytes]

    def hold(self) -> None:
        with self._lock:
            self._readers += 1
            if self._readers == 1:
                self.panicked = False
                if sys.__stderr__ is not None:  # else its number may be any other file's
                    self._put_aside()

    def _put_aside(self) -> None:
        _flush()
        self._aside = os.dup(_STDERR)
        self._written = tempfile.TemporaryFile()  # noqa: SIM115 (closed when the last reader leaves)
        os.dup2(self._written.fileno(), _STDERR)

    def release(self) -> None:
        with self._lock:
            self._readers -= 1
            if self._readers == 0 and self._aside is not None:
                self._put_back(self._aside)
                self._aside = None

    def _put_back(self, aside: int) -> None:
        _flush()
        os.dup2(aside, _STDERR)
        with os.fdopen(aside, "wb") as stderr, self._written as written:
            written.seek(0)
            if not self.panicked:
                shutil.copyfileobj(written, stderr)


def _flush() -> None:
    if sys.stderr is not None:
        sys.stderr.flush()


_stderr = _StandardError()
