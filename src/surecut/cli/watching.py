"""A progress bar with rate and time left; a line now and then where nobody is looking."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from surecut.watching import Watch

_SECONDS_TO_FIRST_LINE = 5.0
_SECONDS_BETWEEN_LINES = 30.0


class _Bar(Watch):
    def __init__(self, progress: Any) -> None:
        self._progress = progress
        self._task: Any = None
        self._pairs = 0
        self._started = 0.0

    def stage(self, what: str, total: int | None = None, done: int = 0) -> None:
        if self._task is not None:
            self._progress.remove_task(self._task)
        self._task = self._progress.add_task(what, total=total, completed=done, rate="")
        self._pairs, self._started = 0, time.monotonic()

    def advance(self, units: int, pairs: int = 0) -> None:
        self._pairs += pairs
        seconds = max(time.monotonic() - self._started, 1e-9)
        rate = f"{self._pairs / seconds:,.0f} pairs/s" if self._pairs else ""
        self._progress.update(self._task, advance=units, rate=rate)


class _Lines(Watch):
    def __init__(self, console: Any) -> None:
        self._console = console
        self._what, self._total, self._done, self._fresh, self._pairs = "", 0, 0, 0, 0
        self._started: float | None = None  # when the first units were finished
        self._spoke = 0.0

    def stage(self, what: str, total: int | None = None, done: int = 0) -> None:
        self._what, self._total, self._done, self._fresh, self._pairs = what, total or 0, done, 0, 0
        self._started = None
        self._spoke = time.monotonic() - _SECONDS_BETWEEN_LINES + _SECONDS_TO_FIRST_LINE

    def advance(self, units: int, pairs: int = 0) -> None:
        now = time.monotonic()
        self._done += units
        if self._started is None:  # what came before the first units was getting ready
            self._started = now
        else:
            self._fresh, self._pairs = self._fresh + units, self._pairs + pairs
        if now - self._spoke < _SECONDS_BETWEEN_LINES:
            return
        self._spoke = now
        self._console.print(
            f"{self._what}: {self._done:,} of {self._total:,}{self._rate(now - self._started)}", style="dim"
        )

    def _rate(self, seconds: float) -> str:
        if not self._fresh:
            return ""
        left = (self._total - self._done) * seconds / self._fresh
        rate = f", {self._pairs / seconds:,.0f} pairs/s" if self._pairs else ""
        return f"{rate}, about {_time(left)} left"


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 60 else f"{seconds / 60:,.0f} min"


@contextmanager
def watching() -> Iterator[Watch]:
    """Something to hand to long work: it shows on stderr how far that is."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

    from surecut.cli.printing import own_stderr

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with own_stderr() as console:
        if not console.is_terminal:
            yield _Lines(console)
            return
        with Progress(*columns, console=console, transient=True, speed_estimate_period=120) as progress:
            yield _Bar(progress)
