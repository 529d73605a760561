"""How a monitored certificate stands, in a terminal."""

import math
import time
from collections.abc import Mapping, Sequence

from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from surecut.cli.printing import out
from surecut.monitoring.standing import BELIEVED, NOT_BELIEVED, Point, Standing, Stream
from surecut.monitoring.streams import TITLES

_COLOURS = {BELIEVED: "green", NOT_BELIEVED: "red"}
_BARS = "▁▂▃▄▅▆▇█"


def print_standing(standing: Standing, histories: Mapping[str, Sequence[Point]]) -> None:
    """Belief and reasons, a row a stream with its evidence over time, what to do."""
    colour = _COLOURS.get(standing.belief, "yellow")
    reasons = "\n".join(reason[0].upper() + reason[1:] + "." for reason in standing.reasons)
    out.print(Panel(Text(reasons), title=standing.belief, border_style=colour, title_align="left"))
    table = Table("", "queries", "found", "evidence", "recent", "over time", box=None, pad_edge=False)
    for name, words in TITLES.items():
        stream: Stream = getattr(standing, name)
        evidence = (_evidence(stream.ever), _evidence(stream.recent))
        line = _line(histories[name], standing.levels.ever)
        table.add_row(words, f"{stream.count:,}", stream.words, *evidence, line)
    out.print(table)
    levels = standing.levels
    out.print(
        f"alarm at {levels.ever:g} (at most {1 / levels.ever:.3g} false alarms ever, for each row) and at "
        f"{levels.recent:g} for recent evidence; {_since(standing)}",
        style="dim",
    )
    if standing.looks:
        taken = ", ".join(f"{number} ({status})" for number, status in standing.looks)
        out.print(f"looks taken for a recalibration: {taken}", style="dim")
    for advice in standing.advice:
        out.print(f"- {advice}", soft_wrap=True)


def _since(standing: Standing) -> str:
    if not standing.period:
        return "not watched yet"
    return f"period {standing.period}, since {time.strftime('%Y-%m-%d %H:%M', time.localtime(standing.started))}"


def _evidence(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def _line(points: Sequence[Point], limit: float) -> str:
    """Evidence over time; a full bar is an alarm."""
    top = math.log(limit)
    shares = [min(max((point.ever or 0.0) / top, 0.0), 1.0) for point in points if point.ever is not None]
    return "".join(_BARS[int(share * (len(_BARS) - 1))] for share in shares)
