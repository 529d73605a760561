"""The drawings behind the figures, as Vega-Lite charts of a width that is decided later."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from surecut.extras import needed
from surecut.report.gathering import Report
from surecut.report.palette import Palette
from surecut.report.quantities import confidence_shown, threshold_shown
from surecut.report.tradeoff import Point

_HEIGHT = 280
_DASHES = ([1, 0], [6, 4])


@dataclass(frozen=True)
class Mark:
    """A point that stands out on a curve, told apart by shape and colour."""

    name: str
    point: Point
    shape: str
    colour: str  # of the palette


def altair() -> Any:
    return needed("altair", "report")


def risk_chart(report: Report, palette: Palette, by_size: bool, axis: str) -> Any:
    """The quantity and its bound, the target, and the certified point."""
    alt = altair()
    quantity, certificate = report.quantity, report.certificate
    names = (f"measured {quantity.name}", f"{quantity.bound}, {confidence_shown(certificate.confidence)}")
    low, high = _window(report)
    points = [p for p in _shown_points(report, low, high) if _drawable(p, by_size)]
    rows = [
        _row(report, point, by_size) | {"series": name, "y": value}
        for name, at in zip(names, ("quantity", "bound"), strict=True)
        for point in points
        if (value := getattr(point, at)) is not None
    ]
    style = ".2%" if quantity.share else ".4f"
    x = alt.X("x:Q", title=axis, scale=_size_scale(points, by_size or certificate.rule["name"] == "rank"))
    y = alt.Y(
        "y:Q",
        title=quantity.name,
        scale=alt.Scale(domain=[low, high], nice=False, zero=False),
        axis=alt.Axis(format=".1%" if quantity.share else ".3f"),
    )
    tooltips = [
        alt.Tooltip("threshold:N"),
        alt.Tooltip("kept:Q", title="mean kept", format=",.2f"),
        alt.Tooltip("quantity:Q", title=quantity.name, format=style),
        alt.Tooltip("bound:Q", title=quantity.bound, format=style),
    ]
    base = alt.Chart(alt.Data(values=rows)).encode(x=x, y=y)
    lines = base.mark_line(clip=True, strokeWidth=2).encode(**_told_apart(names, palette))
    hover = _hover(base.mark_point(clip=True, opacity=0, filled=True, size=60).encode(tooltip=tooltips), "risk")
    layers = [_target_line(report, palette, right=by_size), lines, hover]
    chosen = report.tradeoff.chosen
    if chosen is not None and _drawable(chosen, by_size):
        mark = alt.Data(values=[_row(report, chosen, by_size) | {"y": chosen.quantity}])
        marked = alt.Chart(mark).encode(x="x:Q", y="y:Q", tooltip=tooltips)
        layers += [
            alt.Chart(mark).mark_rule(strokeDash=[2, 3], color=palette.third).encode(x="x:Q"),
            marked.mark_point(shape="diamond", size=170, filled=True, opacity=1, color=palette.third, clip=True),
        ]
    return dressed(alt.layer(*layers), palette)


def quality_chart(report: Report, palette: Palette, marks: Sequence[Mark]) -> Any:
    """The measure by mean size for the rule and for a rank cut-off, with the points that stand out."""
    alt = altair()
    curve, measure = report.tradeoff, report.certificate.measure
    names = [f"rule {report.certificate.rule['name']}", *(["rank cut-off"] if curve.rank else [])]
    rows = [
        _place(name, point)
        for name, points in zip(names, (curve.rule, curve.rank), strict=False)
        for point in points
        if point.mean_kept > 0
    ]
    tooltips = [
        alt.Tooltip("series:N", title=" "),
        alt.Tooltip("x:Q", title="mean kept", format=",.2f"),
        alt.Tooltip("y:Q", title=measure, format=".4f"),
    ]
    x = alt.X("x:Q", title="mean candidates kept", scale=_size_scale((*curve.rule, *curve.rank), True))
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=x, y=alt.Y("y:Q", title=f"mean {measure}", scale=alt.Scale(zero=False))
    )
    lines = base.mark_line(strokeWidth=2).encode(**_told_apart(names, palette))
    hover = _hover(base.mark_point(opacity=0, filled=True, size=60).encode(tooltip=tooltips), "quality")
    shown = [mark for mark in marks if mark.point.mean_kept > 0]
    domain = [mark.name for mark in shown]
    shapes = alt.Scale(domain=domain, range=[mark.shape for mark in shown])
    colours = alt.Scale(domain=domain, range=[getattr(palette, mark.colour) for mark in shown])
    points = (
        alt.Chart(alt.Data(values=[_place(mark.name, mark.point) for mark in shown]))
        .mark_point(size=130, filled=True, opacity=1)
        .encode(
            x="x:Q",
            y="y:Q",
            shape=alt.Shape("series:N", title=None, scale=shapes),
            color=alt.Color("series:N", title=None, scale=colours),
            tooltip=tooltips,
        )
    )
    separate = dict.fromkeys(("color", "shape", "strokeDash"), "independent")
    return dressed(alt.layer(alt.layer(lines, hover), points).resolve_scale(**separate), palette)


def bars_chart(bars: list[tuple[str, int, str, str]], palette: Palette, axis: str) -> Any:
    """One bar for each label, in the order given: label, count, share in words, name of its colour."""
    alt = altair()
    rows = [
        {"label": label, "queries": count, "share": share, "colour": getattr(palette, colour)}
        for label, count, share, colour in bars
    ]
    chart = (
        alt.Chart(alt.Data(values=rows))
        .mark_bar(cornerRadiusEnd=2)
        .encode(
            x=alt.X("label:N", title=axis, sort=None, axis=alt.Axis(labelAngle=_angle(bars), labelOverlap=False)),
            y=alt.Y("queries:Q", title="queries", axis=alt.Axis(tickMinStep=1, format=",d")),
            color=alt.Color("colour:N", scale=None),
            tooltip=[
                alt.Tooltip("label:N", title=axis),
                alt.Tooltip("queries:Q", format=",d"),
                alt.Tooltip("share:N"),
            ],
        )
    )
    return dressed(chart, palette)


def _angle(bars: list[tuple[str, int, str, str]]) -> int:
    """Upright where the labels have room on a phone, else steep enough that none is left out."""
    return 0 if sum(len(label) + 2 for label, *_ in bars) <= 40 else -60


def dressed(chart: Any, palette: Palette) -> Any:
    """The same look for all of them."""
    alt = altair()
    text = {"labelColor": palette.ink, "titleColor": palette.ink, "labelFontSize": 12, "titleFontSize": 12}
    return chart.properties(height=_HEIGHT, background=palette.background).configure(
        font="system-ui, sans-serif",
        axis=alt.AxisConfig(
            **text,
            gridColor=palette.grid,
            domainColor=palette.muted,
            tickColor=palette.muted,
            titleFontWeight="normal",
            titlePadding=8,
            labelFlush=False,
        ),
        axisX=alt.AxisConfig(grid=False, tickCount=6),
        axisY=alt.AxisConfig(tickCount=5),
        legend=alt.LegendConfig(
            **text,
            orient="top",
            direction="horizontal",
            columns=alt.ExprRef("width < 480 ? 1 : 0"),  # on a phone one below the other, else in a row
            labelLimit=320,
            columnPadding=16,
            symbolStrokeWidth=2,
        ),
        view=alt.ViewConfig(stroke=None),
    )


def _hover(points: Any, name: str) -> Any:
    """Points that show their values to a pointer anywhere near."""
    return points.add_params(altair().selection_point(name=name, nearest=True, on="pointerover", empty=False))


def _told_apart(names: Sequence[str], palette: Palette) -> dict[str, Any]:
    """Two lines by colour and by dashes, in one legend."""
    alt = altair()
    colours = alt.Scale(domain=names, range=[palette.main, palette.second][: len(names)])
    dashes = alt.Scale(domain=names, range=list(_DASHES)[: len(names)])
    return {
        "color": alt.Color("series:N", title=None, scale=colours),
        "strokeDash": alt.StrokeDash("series:N", title=None, scale=dashes),
    }


def _place(series: str, point: Point) -> dict[str, Any]:
    return {"series": series, "x": point.mean_kept, "y": point.measured}


def _target_line(report: Report, palette: Palette, right: bool) -> Any:
    """The target, named at the end where the curves are far from it."""
    alt = altair()
    value = report.certificate.target["value"]
    rows = alt.Data(values=[{"y": value, "label": f"target {report.quantity.target(value)}"}])
    base = alt.Chart(rows).encode(y="y:Q")
    line = base.mark_rule(strokeDash=[1, 3], strokeWidth=2, color=palette.ink)
    side = {"align": "right", "dx": -4} if right else {"align": "left", "dx": 4}
    words = base.mark_text(**side, dy=-7, fontSize=12, color=palette.ink).encode(
        x=alt.value("width" if right else 0), text="label:N"
    )
    return line + words


def _drawable(point: Point, by_size: bool) -> bool:
    """Has it a place on the axis? Sizes are on a logarithmic one."""
    return point.mean_kept > 0 if by_size else math.isfinite(point.threshold)


def _row(report: Report, point: Point, by_size: bool) -> dict[str, Any]:
    rule = report.certificate.rule["name"]
    return {
        "x": point.mean_kept if by_size else -point.threshold if rule == "rank" else point.threshold,
        "kept": point.mean_kept,
        "threshold": threshold_shown(point.threshold, rule, report.certificate.min_keep),
        "quantity": point.quantity,
        "bound": point.bound,
    }


def _window(report: Report) -> tuple[float, float]:
    """The range of the quantity around target and certified point, where the eye should be."""
    value, points = float(report.certificate.target["value"]), report.tradeoff.rule
    widest = points[-1]
    gap = abs((widest.quantity if widest.bound is None else widest.bound) - widest.quantity)
    if report.certificate.target["kind"] in ("max_drop", "max_drop_abs"):
        lowest = min(0.0, *(point.quantity for point in points))
        high = max(3 * value, value + 2 * gap, 1.5 * gap)
        return lowest - 0.05 * (high - lowest), min(high, 1.0)
    around = max(3 * gap, 0.25 * abs(value - widest.quantity), 0.02)
    ends = (value, widest.quantity, *((widest.bound,) if widest.bound is not None else ()))
    return max(min(ends) - around, 0.0), min(max(*ends, *(p.quantity for p in points)) + around / 3, 1.0)


def _shown_points(report: Report, low: float, high: float) -> list[Point]:
    """The stretch of the curve that passes through the window, with one point more on each side."""
    points = report.tradeoff.rule
    inside = [
        i
        for i, point in enumerate(points)
        if low <= point.quantity <= high or (point.bound is not None and low <= point.bound <= high)
    ]
    if not inside:
        return list(points)
    return list(points[max(inside[0] - 1, 0) : inside[-1] + 2])


def _size_scale(points: Any, is_size: bool) -> Any:
    """Logarithmic where sizes differ by more than a factor of ten."""
    alt = altair()
    sizes = [point.mean_kept for point in points if point.mean_kept > 0]
    if is_size and sizes and max(sizes) > 10 * min(sizes):
        return alt.Scale(type="log", nice=False)
    return alt.Scale(zero=False, nice=False)
