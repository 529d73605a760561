"""The paper's four figures again: charts, words for those who cannot see them, and the numbers behind them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from benchmarks.reproduction.drawing import dots, finished, level, lines
from benchmarks.reproduction.markdown import size
from benchmarks.reproduction.published import CONFIDENCE, CONFIDENCE_FALLS_AT, METHODS, SMALLEST_BOUND, Row
from benchmarks.reproduction.sweeps import RiskCurve, TargetPoint
from benchmarks.reproduction.trials import AT_LEAST
from surecut.report.palette import PAPER
from surecut.trials.outcome import Summary

_SHOWN = (*METHODS, AT_LEAST)
_DOTS_HEIGHT = 440
_ABOVE_TARGET = 0.04  # of the risk: beyond that figure 2 is not drawn
_AS_GOOD_AS_NEVER = 0.05  # of the trials
_SIZE_STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


@dataclass(frozen=True)
class Figure:
    """A chart, what it shows, and its numbers."""

    name: str
    title: str
    caption: str
    description: str
    chart: Any
    heads: tuple[str, ...]
    rows: Sequence[Sequence[str]]
    left: int = 1  # columns that hold words


def coverage_figure(found: Sequence[tuple[Row, dict[str, Summary]]], trials: int) -> Figure:
    """Figure 1, first half: how often the claim held."""
    kinds = ("on the batch", "of the truth", "published")
    rows, values = [], []
    for row, summaries in found:
        for method in _SHOWN:
            seen = summaries[method]
            told = row.methods[method].coverage if method in row.methods else None
            three = (seen.batch_coverage, seen.true_coverage, told)
            rows.append((row.name, method, *("-" if x is None else f"{x:.3f}" for x in three)))
            values += [
                {"system": row.name, "method": method, "kind": kind, "x": x}
                for kind, x in zip(kinds, three, strict=True)
                if x is not None
            ]
    x = alt.X("x:Q", title="share of trials in which the claim held", scale=alt.Scale(domain=[0.3, 1.0]))
    line = alt.Chart(alt.Data(values=[{"x": CONFIDENCE}])).mark_rule(strokeDash=[1, 3], strokeWidth=2, color=PAPER.ink)
    return Figure(
        name="reproduction-coverage",
        title="Figure 1: certified against empirical methods, coverage",
        caption=f"Simulated MARCO systems, {trials} trials. Dotted: the confidence asked for.",
        description="Points by system and method: the share of trials in which the claim held on the test batch, in "
        "which it was true of the population, and the published share; numbers below.",
        chart=finished(alt.layer(line.encode(x=x), dots(values, _names(found), _SHOWN, kinds, x)), _DOTS_HEIGHT),
        heads=("system", "method", *kinds),
        rows=rows,
        left=2,
    )


def size_figure(found: Sequence[tuple[Row, dict[str, Summary]]]) -> Figure:
    """Figure 1, second half: how many candidates were kept."""
    kinds = ("here", "published")
    rows, values = [], []
    for row, summaries in found:
        for method in _SHOWN:
            told = row.methods[method].size if method in row.methods else None
            both = (summaries[method].mean_size, told)
            rows.append((row.name, method, *("-" if x is None else size(x) for x in both)))
            values += [
                {"system": row.name, "method": method, "kind": kind, "x": x}
                for kind, x in zip(kinds, both, strict=True)
                if x is not None
            ]
    scale = alt.Scale(type="log", domain=[min(5, *(value["x"] for value in values)), 1000], nice=False)
    x = alt.X(
        "x:Q",
        title="mean candidates kept",
        scale=scale,
        axis=_size_axis(grid=True),
    )
    return Figure(
        name="reproduction-sizes",
        title="Figure 1: certified against empirical methods, size",
        caption="Simulated MARCO systems, tuned so that EST needs about the published size.",
        description="Points by system and method: mean candidates kept of 1,000, here and as published; numbers below.",
        chart=finished(dots(values, _names(found), _SHOWN, kinds, x), _DOTS_HEIGHT),
        heads=("system", "method", *kinds),
        rows=rows,
        left=2,
    )


def risk_figure(curve: RiskCurve) -> Figure:
    """Figure 2: the risk and its bound against the threshold."""
    names = ("risk on the calibration queries", "its WSR bound", "its hedge bound", "true risk")
    heads = ("threshold", "mean kept", *names)
    values, rows, left_out = [], [], ""
    for point in curve.points:
        four = (point.empirical, point.wsr, point.hedge, point.truth)
        rows.append((f"{point.threshold:.2e}", size(point.kept), *(f"{y:.4f}" for y in four)))
        if min(four) > curve.level + _ABOVE_TARGET:
            left_out = " Thresholds that prune far more are in the numbers only."
            continue
        values += [{"x": point.threshold, "series": name, "y": y} for name, y in zip(names, four, strict=True)]
    y = alt.Y("y:Q", title="risk (1 - RR@10)", scale=alt.Scale(zero=False))
    x = alt.X(
        "x:Q", title="threshold (calibrated score)", scale=alt.Scale(type="log", nice=False), axis=alt.Axis(format="~g")
    )
    layers = [lines(values, names, x, y), level(curve.level, f"target {curve.level:.2f}")]
    ended = "No threshold passed."
    if curve.chosen is not None:
        mark = alt.Chart(alt.Data(values=[{"x": curve.chosen}]))
        layers.append(mark.mark_rule(strokeDash=[2, 3], color=PAPER.ink).encode(x="x:Q"))
        ended = f"The published procedure ends at {curve.chosen:.2e}, the vertical line."
    return Figure(
        name="reproduction-risk",
        title="Figure 2: empirical risk and its bound",
        caption=f"Simulated Quora, DPR + MonoELECTRA; one calibration sample of {curve.queries:,}. {ended}{left_out}",
        description=f"Four lines over the threshold: {', '.join(names)}; a horizontal line at the target "
        f"{curve.level:.2f}. {ended} Numbers below.",
        chart=finished(alt.layer(*layers)),
        heads=heads,
        rows=rows[::3],
    )


def required_figure(points: Sequence[TargetPoint], row: Row) -> Figure:
    """Figure 3: size against the measure, with the required value as a second line."""
    names = ("RR@10 on the test queries", "RR@10 required")
    rows = [
        (f"{p.target:.3f}", f"{p.measure:.4f}", size(p.size), f"{p.reached:.2f}", f"{p.batch_coverage:.2f}")
        for p in points
    ]
    values = [
        {"x": p.size, "series": name, "y": y}
        for p in points
        for name, y in zip(names, (p.measure, p.target), strict=True)
    ]
    told = row.methods["CEC"]
    published = alt.Data(values=[{"x": told.size, "y": y} for y in (told.measure, row.target)])
    mark = alt.Chart(published).mark_point(shape="cross", size=90, filled=True, opacity=1, color=PAPER.ink)
    scale = alt.Scale(type="log", nice=False)
    x = alt.X(
        "x:Q",
        title="mean candidates kept",
        scale=scale,
        axis=_size_axis(),
    )
    y = alt.Y("y:Q", title="RR@10", scale=alt.Scale(zero=False))
    return Figure(
        name="reproduction-required",
        title="Figure 3: size against RR@10",
        caption="Simulated MARCO, DPR + MonoELECTRA, the published procedure for a range of targets; crosses: the row "
        "published for its target. The gap between the lines is the price of being sure.",
        description="Two lines over the mean size: RR@10 measured and RR@10 required, the first above the second; "
        "numbers below.",
        chart=finished(alt.layer(lines(values, names, x, y), mark.encode(x="x:Q", y="y:Q"))),
        heads=("required", "measured", "mean kept", "reached without correction", "coverage on the batch"),
        rows=rows,
    )


def confidence_figure(points: Sequence[TargetPoint], smallest_bound: float | None) -> Figure:
    """Figure 4: the confidence correction."""
    names = ("corrected confidence", "coverage on the batch", "coverage of the truth")
    values, rows = [], []
    for p in points:
        three = (p.confidence, p.batch_coverage, p.true_coverage)
        rows.append((f"{1 - p.target:.4f}", *(f"{y:.3f}" for y in three), f"{p.reached:.2f}"))
        values += [{"x": 1 - p.target, "series": name, "y": y} for name, y in zip(names, three, strict=True)]
    bounds = [{"x": SMALLEST_BOUND, "label": f"published, about {SMALLEST_BOUND:.2f}"}]
    if smallest_bound is not None:
        bounds.append({"x": smallest_bound, "label": f"smallest bound {smallest_bound:.3f}"})
    marks = alt.Chart(alt.Data(values=bounds))
    rule = marks.mark_rule(strokeDash=[2, 3], color=PAPER.ink).encode(x="x:Q")
    words = marks.mark_text(align="left", dx=5, fontSize=12, color=PAPER.ink).encode(
        x="x:Q", y=alt.value(268), text="label:N"
    )
    x = alt.X("x:Q", title="level of the risk asked for (alpha)", scale=alt.Scale(zero=False, nice=False))
    y = alt.Y("y:Q", title="share", scale=alt.Scale(domain=[0, 1]))
    return Figure(
        name="reproduction-confidence",
        title="Figure 4: the confidence correction",
        caption="Simulated MARCO, DPR + MonoELECTRA. Left of the smallest bound the published procedure raises delta; "
        f"in the paper that begins at {CONFIDENCE_FALLS_AT}. {_promised_in_vain(points)}",
        description="Three lines over alpha: the confidence after correction, coverage on the batch and coverage of "
        f"the truth; vertical lines at the smallest bound: {' and '.join(str(each['label']) for each in bounds)}. "
        "Numbers below.",
        chart=finished(alt.layer(lines(values, names, x, y), rule, words)),
        heads=("alpha", *names, "reached without correction"),
        rows=rows,
    )


def _promised_in_vain(points: Sequence[TargetPoint]) -> str:
    """The largest confidence where the claim is as good as never true."""
    false = [point for point in points if point.true_coverage <= _AS_GOOD_AS_NEVER]
    if not false:
        return ""
    worst = max(false, key=lambda point: point.confidence)
    return (
        f"At alpha = {1 - worst.target:g} the claim is true in {worst.true_coverage:.0%} of the trials, and the mean "
        f"confidence that is promised for it is {worst.confidence:.0%}."
    )


def _size_axis(**options: Any) -> alt.Axis:
    """All the steps: left to itself a log axis leaves out ticks and labels."""
    labels = {"labelOverlap": False, "labelExpr": "format(datum.value, ',d')"}
    return alt.Axis(values=_SIZE_STEPS, tickCount=len(_SIZE_STEPS), **labels, **options)


def _names(found: Sequence[tuple[Row, dict[str, Summary]]]) -> list[str]:
    return [row.name for row, _ in found]
