"""Work on several things at a time, by threads: compiled code runs without the interpreter's lock."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import Any, TypeVar

from surecut.errors import InputError

T = TypeVar("T")
_SPARE = 1  # while one waits for the interpreter, no core is idle
_MOST = 16  # unless asked for more: each holds what it is at in memory
_AHEAD = 2  # items a thread that are waiting or done, with the one it is at


THREADS = "SURECUT_THREADS"
"""The variable that says how many threads to use, where other work shares the processors."""


def cores() -> int:
    """Processors this process may use."""
    if (asked := os.environ.get(THREADS, "")).isdecimal():
        return max(1, int(asked))
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_order(work: Callable[[Any], T], items: Iterable[Any], jobs: int | None = None) -> Iterator[T]:
    """What `work` makes of each item, in their order; items are asked for only a little ahead of their turn."""
    if jobs is not None and jobs < 1:
        raise InputError(f"jobs must be at least 1, not {jobs}")
    threads, left = jobs or min(cores() + _SPARE, _MOST), iter(items)
    executor = ThreadPoolExecutor(threads)
    try:
        waiting: deque[Future[T]] = deque(executor.submit(work, item) for item in islice(left, _AHEAD * threads))
        while waiting:
            result = waiting.popleft().result()
            waiting.extend(executor.submit(work, item) for item in islice(left, 1))
            yield result
    finally:
        executor.shutdown(cancel_futures=True)
