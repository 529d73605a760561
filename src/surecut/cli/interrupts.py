"""Ctrl-C and SIGTERM, at a moment when an exception comes up to whoever waits for it."""

import signal
import threading
from types import FrameType

from surecut.signals import WORDS, status_of

_DEAF = frozenset({"_numba_unpickle", "_raw_object_cache_notify", "_on_type_disposal"})
"""Functions that compiled code calls without a look at whether they failed: an interrupt there ends in a crash, or in
nothing. The first is called each time a kernel hands its results over, so just when it has run for long."""

_LATER = 0.01  # seconds


class Interrupted(KeyboardInterrupt):
    """Of a type of its own: Python ends by the signal (status -2, not 130) once KeyboardInterrupt itself has left an
    `exec`, as when a dataclass is being made."""


_came = [signal.SIGINT]  # the last one is what it ends by


def interrupt_cleanly() -> None:
    """Raise on Ctrl-C as Python does, but not where that would be lost; and on SIGTERM, to leave things tidy."""
    for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL)):
        if signal.getsignal(number) is usual:  # else somebody wants it otherwise
            signal.signal(number, _interrupted)


def stopped_by() -> tuple[str, int]:
    """What stopped the process, in a word and as the exit status that says so."""
    return WORDS[_came[-1]], status_of(_came[-1])


def _interrupted(number: int, frame: FrameType | None) -> None:
    while frame is not None:
        if frame.f_code.co_name in _DEAF:
            again = threading.Timer(_LATER, _send, (number,))
            again.daemon = True
            again.start()
            return
        frame = frame.f_back
    _came.append(signal.Signals(number))
    raise Interrupted


def _send(number: int) -> None:
    """To the main thread: whatever it waits for by then has to end."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, number)
    else:
        signal.raise_signal(number)
