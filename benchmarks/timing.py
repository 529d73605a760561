"""Warm times, and what a command takes in time and memory."""

import json
import os
import subprocess
import sys
import timeit
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import polars as pl


def fastest(*functions: Callable[[], Any], repeats: int = 5, number: int = 1) -> list[float]:
    """Seconds a call, the best of several; the functions take turns, so that all see the same machine."""
    for function in functions:
        function()
    times = [[timeit.timeit(function, number=number) for function in functions] for _ in range(repeats)]
    return [min(column) / number for column in zip(*times, strict=True)]


@contextmanager
def one_core() -> Iterator[None]:
    """Keep this process on one core, where the system allows it, so that no second thread can help."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    pl.thread_pool_size()  # polars counts the cores once: let it see them all
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


@dataclass(frozen=True)
class Finished:
    """A command that has ended."""

    seconds: float
    peak_bytes: int
    status: int
    errors: str


# A process begins with the memory high-water mark of the one that starts it, so a small one stands between.
_WATCH = """
import json, os, subprocess, sys, time
start = time.perf_counter()
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(child.pid, 0)
child.returncode = os.waitstatus_to_exitcode(status)
peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
print(json.dumps([time.perf_counter() - start, peak, child.returncode]))
"""


def run_command(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Finished:
    """Run a Python command (what follows `python`) to its end; a status other than 0 is an error."""
    watched = [sys.executable, "-S", "-c", _WATCH, sys.executable, *command]
    ended = subprocess.run(watched, capture_output=True, text=True, env={**os.environ, **(environment or {})})
    finished = Finished(*json.loads(ended.stdout), ended.stderr)
    if finished.status != 0:
        raise RuntimeError(f"{' '.join(command)} ended with status {finished.status}: {finished.errors.strip()}")
    return finished
