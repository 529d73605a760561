"""What is said now and then where nobody is looking."""

import io

import pytest
from rich.console import Console

from surecut.cli import watching


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes on when it is told to."""
    now = [100.0]
    monkeypatch.setattr(watching.time, "monotonic", lambda: now[0])

    def wait(seconds):
        now[0] += seconds

    return wait


def test_getting_ready_does_not_count_in_the_time_that_is_left(clock):
    said = io.StringIO()
    lines = watching._Lines(Console(file=said, width=200))
    lines.stage("scoring queries", 100)
    clock(60)  # models are loaded
    lines.advance(10, 1000)
    assert said.getvalue() == "scoring queries: 10 of 100\n"
    clock(40)
    lines.advance(10, 1000)
    assert said.getvalue().splitlines()[1] == "scoring queries: 20 of 100, 25 pairs/s, about 5 min left"


def test_nothing_is_said_of_what_is_soon_over(clock):
    said = io.StringIO()
    lines = watching._Lines(Console(file=said, width=200))
    lines.stage("reading lists", 100)
    for _ in range(4):
        clock(1)
        lines.advance(25)
    assert said.getvalue() == ""
