"""Standard input, read so that Ctrl-C always gets a word in."""

import io
import select
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

from surecut.io.limits import document

_PIECE = 1 << 20


@contextmanager
def standard_input() -> Iterator[io.BufferedReader]:
    """Standard input, as a file to read from."""
    stream = cast(io.BufferedReader, sys.stdin.buffer)
    with _waiting(stream) as wait:
        yield io.BufferedReader(_Awaited(stream, wait), _PIECE)


def standard_text(largest: int) -> str:
    """All of it, as text, where it is no more than so many bytes."""
    with standard_input() as stream:
        return document(stream, "standard input", largest)


class _Awaited(io.RawIOBase):
    """A stream that is waited for before it is read."""

    def __init__(self, stream: io.BufferedReader, wait: Callable[[], object]) -> None:
        self._stream, self._wait = stream, wait

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._wait()
        return self._stream.readinto1(buffer)


@contextmanager
def _waiting(stream: io.BufferedReader) -> Iterator[Callable[[], object]]:
    """A function that returns once there is something to read, or a signal has come.

    A signal that falls between Python's own check and the call that reads would else wait for more input.
    """
    if not _can_be_woken(stream):
        yield lambda: None
        return
    woken, waker = socket.socketpair()
    with woken, waker:
        waker.setblocking(False)
        before = -1
        try:  # from here on: a signal may come before the next line
            before = signal.set_wakeup_fd(waker.fileno())
            yield lambda: select.select([stream.fileno(), woken.fileno()], [], [])
        finally:
            signal.set_wakeup_fd(before)


def _can_be_woken(stream: io.BufferedReader) -> bool:
    """Signals go to the main thread; only a file of the system's can be waited for, and not on Windows."""
    try:
        stream.fileno()
    except io.UnsupportedOperation:
        return False
    return threading.current_thread() is threading.main_thread() and sys.platform != "win32"
