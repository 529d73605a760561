"""Standard input, read so that Ctrl-C always gets a word in."""

import io
import select
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import cast

from surecut.errors import InputError

_PIECE = 1 << 20


def standard_input() -> bytes:
    """All of it, in pieces."""
    stream = cast(io.BufferedReader, sys.stdin.buffer)
    pieces: list[bytes] = []
    with _waiting(stream) as wait:
        while True:
            wait()
            piece = stream.read1(_PIECE)
            if not piece:
                return b"".join(pieces)
            pieces.append(piece)


def standard_text() -> str:
    """All of it, as text."""
    try:
        return standard_input().decode()
    except UnicodeDecodeError:
        raise InputError("standard input is not UTF-8") from None


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
        before = signal.set_wakeup_fd(waker.fileno())
        try:
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
