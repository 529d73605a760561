"""How the figures are drawn: colours that hold for every kind of colour vision, and marks that differ in shape too."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from surecut.report.charts import dressed
from surecut.report.palette import PAPER

WIDTH = 620
_COLOURS = [PAPER.main, PAPER.second, PAPER.fourth, PAPER.third]
_DASHES = [[1, 0], [6, 4], [2, 2], [8, 3, 2, 3]]
_SHAPES = {2: ["circle", "cross"], 3: ["circle", "diamond", "cross"]}

_LEGEND_STROKE = 700  # long enough to tell dashes apart

Values = list[dict[str, Any]]


def dots(values: Values, systems: Sequence[str], methods: Sequence[str], kinds: Sequence[str], x: Any) -> Any:
    """One row a system and method, several kinds of marks in each."""
    base = alt.Chart(alt.Data(values=values)).encode(
        x=x,
        y=alt.Y(
            "system:N",
            title=None,
            sort=list(systems),
            scale=alt.Scale(paddingInner=0.25, paddingOuter=0.1),
            axis=alt.Axis(labelLimit=220, grid=True, bandPosition=0, ticks=False),
        ),
        yOffset=alt.YOffset("method:N", sort=list(methods)),
        color=alt.Color("method:N", title=None, scale=alt.Scale(domain=list(methods), range=_COLOURS)),
        shape=alt.Shape("kind:N", title=None, scale=alt.Scale(domain=list(kinds), range=_SHAPES[len(kinds)])),
    )
    return base.mark_point(filled=True, size=70, opacity=0.85)


def lines(values: Values, names: Sequence[str], x: Any, y: Any) -> Any:
    """One line a name."""
    legend = alt.Legend(symbolSize=_LEGEND_STROKE)
    return (
        alt.Chart(alt.Data(values=values))
        .mark_line(strokeWidth=2)
        .encode(
            x=x,
            y=y,
            color=alt.Color(
                "series:N",
                title=None,
                legend=legend,
                scale=alt.Scale(domain=list(names), range=_COLOURS[: len(names)]),
            ),
            strokeDash=alt.StrokeDash(
                "series:N",
                title=None,
                legend=legend,
                scale=alt.Scale(domain=list(names), range=_DASHES[: len(names)]),
            ),
        )
    )


def level(value: float, label: str) -> Any:
    """A horizontal line with its name."""
    base = alt.Chart(alt.Data(values=[{"y": value, "label": label}])).encode(y="y:Q")
    line = base.mark_rule(strokeDash=[1, 3], strokeWidth=2, color=PAPER.ink)
    words = base.mark_text(align="left", dx=4, dy=-7, fontSize=12, color=PAPER.ink)
    return line + words.encode(x=alt.value(0), text="label:N")


def finished(chart: Any, height: int | None = None) -> Any:
    """The chart in the project's dress."""
    drawn = dressed(chart, PAPER).properties(width=WIDTH)
    return drawn if height is None else drawn.properties(height=height)
