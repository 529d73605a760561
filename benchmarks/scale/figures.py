"""Time and memory against rows, and the cost of a query against their number."""

from typing import Any

import altair as alt

from benchmarks.reproduction.drawing import Values, finished, lines
from benchmarks.scale.findings import Findings

PATHS = ("read, nothing kept", "in memory", "in pieces", "Ray")
_GB = 1e9


def figures(found: Findings) -> dict[str, Any]:
    """By the names of their files."""
    deep = found.largest[0][1]
    shallow = found.largest[-1][1]
    return {
        "scale-time": _drawn(_of(found, deep, "rows", lambda each: each.seconds), "candidates (log)", "seconds (log)"),
        "scale-memory": _drawn(
            _of(found, deep, "rows", lambda each: each.peak_bytes / _GB), "candidates (log)", "peak memory, GB (log)"
        ),
        "scale-per-query": _drawn(
            _of(found, shallow, "queries", lambda each: 1e6 * each.seconds / each.queries),
            f"queries of {shallow:,} candidates (log)",
            "microseconds a query (log)",
        ),
    }


def _of(found: Findings, depth: int, x: str, y: Any) -> Values:
    return [
        {"series": each.path, "x": getattr(each, x), "y": y(each)}
        for each in found.measured
        if each.depth == depth and each.path in PATHS
    ]


def _drawn(values: Values, x: str, y: str) -> Any:
    log = alt.Scale(type="log")
    axis = alt.Axis(format="~s", tickCount=5)
    across = alt.X("x:Q", title=x, scale=log, axis=axis)
    return finished(lines(values, PATHS, across, alt.Y("y:Q", title=y, scale=log)), 280)
