"""How a monitored certificate stands, in a terminal."""

import math
import time
from collections.abc import Callable, Mapping, Sequence

from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from surecut.certificate import Certificate
from surecut.cli.printing import claimed_quantity, out
from surecut.monitoring.standing import BELIEVED, NOT_BELIEVED, Point, Standing, Stream

_COLOURS = {BELIEVED: "green", NOT_BELIEVED: "red"}
_BARS = "▁▂▃▄▅▆▇█"


def print_standing(standing: Standing, certificate: Certificate, histories: Mapping[str, Sequence[Point]]) -> None:
    """Belief and reasons, a row a stream with its evidence over time, what to do."""
    colour = _COLOURS.get(standing.belief, "yellow")
    reasons = "\n".join(reason[0].upper() + reason[1:] + "." for reason in standing.reasons)
    out.print(Panel(Text(reasons), title=standing.belief, border_style=colour, title_align="left"))
    unit, shown = claimed_quantity(certificate)
    table = Table("", "queries", "found", "expected", "evidence", "recent", "over time", box=None, pad_edge=False)
    rows: dict[str, tuple[Stream, str, Sequence[str]]] = {
        "claim": (standing.claim, "claim", _values(standing.claim, unit, shown)),
        "agreement": (standing.agreement, "agreement", _values(standing.agreement, "", lambda share: f"{share:.1%}")),
        "drift": (standing.drift, "traffic", ("", "")),
    }
    for name, (stream, words, values) in rows.items():
        evidence = (_evidence(stream.ever), _evidence(stream.recent))
        table.add_row(words, f"{stream.count:,}", *values, *evidence, _line(histories[name], standing.levels.ever))
    out.print(table)
    levels = standing.levels
    out.print(
        f"alarm at {levels.ever:g} (at most {1 / levels.ever:.3g} false alarms ever, for each row) and at "
        f"{levels.recent:g} for recent evidence; period {standing.period}, "
        f"since {time.strftime('%Y-%m-%d %H:%M', time.localtime(standing.started))}",
        style="dim",
    )
    for advice in standing.advice:
        out.print(f"- {advice}", soft_wrap=True)


def _values(stream: Stream, unit: str, shown: Callable[[float], str]) -> tuple[str, str]:
    found = "-" if stream.estimate is None else f"{unit}{shown(stream.estimate)}"
    return found, "-" if stream.claimed is None else shown(stream.claimed)


def _evidence(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def _line(points: Sequence[Point], limit: float) -> str:
    """Evidence over time; a full bar is an alarm."""
    top = math.log(limit)
    shares = [min(max((point.ever or 0.0) / top, 0.0), 1.0) for point in points if point.ever is not None]
    return "".join(_BARS[int(share * (len(_BARS) - 1))] for share in shares)
