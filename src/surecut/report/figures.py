"""The figures of a report: each a chart, words that say what it shows, and the table behind it."""

from dataclasses import dataclass
from typing import Any

from surecut.certificate import Certificate
from surecut.report.charts import Mark, bars_chart, quality_chart, risk_chart
from surecut.report.gathering import Report
from surecut.report.palette import Palette
from surecut.report.per_query import Bar
from surecut.report.quantities import capital, confidence_shown, percent, threshold_shown
from surecut.report.tradeoff import Point


@dataclass(frozen=True)
class Figure:
    """A chart with what replaces it for those who cannot see it."""

    name: str
    title: str
    caption: str
    description: str
    chart: Any  # altair's, without a width
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def make_figures(report: Report, palette: Palette) -> list[Figure]:
    """All figures that have something to show, in the order they are read."""
    curved = len(report.tradeoff.rule) > 2  # lists of one candidate leave nothing to choose
    return [
        *([_risk(report, palette, by_size) for by_size in (False, True)] if curved else []),
        *([_quality(report, palette)] if curved else []),
        _sizes(report, palette),
        *([_changes(report, palette)] if report.changes.bars else []),
    ]


def _risk(report: Report, palette: Palette, by_size: bool) -> Figure:
    certificate, quantity, curve = report.certificate, report.quantity, report.tradeoff
    axis = "mean candidates kept" if by_size else _threshold_axis(certificate.rule["name"])
    described = (
        f"Two lines over {len(curve.rule)} thresholds: the {quantity.name} on the calibration queries and its "
        f"{confidence_shown(certificate.confidence)} {quantity.bound}; a horizontal line at the target "
        f"{quantity.target(certificate.target['value'])}. {_chosen_in_words(report)}"
    )
    return Figure(
        name="risk-by-size" if by_size else "risk-by-threshold",
        title=f"{capital(quantity.name)} and its bound, by {'mean size' if by_size else 'threshold'}",
        caption=f"The same, by how many candidates are kept. {_chosen_in_words(report)}"
        if by_size
        else _by_itself(report),
        description=described,
        chart=risk_chart(report, palette, by_size, axis),
        columns=("threshold", "mean kept", quantity.name, quantity.bound),
        rows=tuple(_risk_row(report, point) for point in curve.rule),
    )


def _by_itself(report: Report) -> str:
    certificate = report.certificate
    level = confidence_shown(certificate.confidence)
    approximate = " and only approximate (clt)" if certificate.test == "clt" else ""
    return (
        f"Each {report.quantity.bound} is for its threshold taken by itself, at {level}{approximate}; it is for "
        f"reading. {_how_chosen(certificate)}"
    )


def _how_chosen(certificate: Certificate) -> str:
    if certificate.status == "abstained":
        return "No threshold is certified."
    if certificate.procedure == "assess":
        return "The cut was fixed in advance, not searched for on these labels."
    if certificate.procedure != "walk":
        return "The marked threshold is the one this procedure chose; it is not certified."
    if certificate.status.startswith("relaxed"):
        return "No threshold is certified at the target; nothing is pruned."
    if certificate.grid["starts"] > 1:
        return (
            f"The marked threshold is the farthest that any of {certificate.grid['starts']} walks came, each from a "
            "start of its own, testing every threshold on the way; they share the error probability, and a walk that "
            "comes as far as the next start passes its share on."
        )
    return (
        "The marked threshold is where the walk from “keep everything” stopped, which tests every threshold on the way."
    )


def _risk_row(report: Report, point: Point) -> tuple[str, ...]:
    certificate, quantity = report.certificate, report.quantity
    return (
        threshold_shown(point.threshold, certificate.rule["name"], certificate.min_keep),
        f"{point.mean_kept:,.2f}",
        quantity.shown(point.quantity),
        quantity.shown(point.bound),
    )


def _quality(report: Report, palette: Palette) -> Figure:
    certificate, curve = report.certificate, report.tradeoff
    marks = marks_of(report)
    listed = "; ".join(f"{m.name}: {m.point.measured:.4f} with {m.point.mean_kept:,.1f} kept" for m in marks)
    rank = "" if not curve.rank else f", beside a plain rank cut-off over {len(curve.rank)} sizes"
    rows = [_quality_row(mark.name, mark.point) for mark in marks]
    for name, points in ((f"rule {certificate.rule['name']}", curve.rule), ("rank cut-off", curve.rank)):
        rows += [_quality_row(name, point) for point in points]
    return Figure(
        name="quality-by-size",
        title=f"{certificate.measure} by mean size",
        caption=f"Measured on the calibration queries. {_baselines_in_words(report)}",
        description=f"Mean {certificate.measure} against the mean number of candidates kept{rank}. {listed}.",
        chart=quality_chart(report, palette, marks),
        columns=("point", "mean kept", certificate.measure),
        rows=tuple(rows),
    )


def _baselines_in_words(report: Report) -> str:
    curve, target = report.tradeoff, float(report.certificate.target["value"])
    met: list[tuple[str, str]] = []
    missed: list[tuple[str, str]] = []
    for name, cut, point in (("EST", "score", curve.est), ("ERT", "rank", curve.ert)):
        if point is not None:
            meets = point.quantity >= target if report.quantity.rising else point.quantity <= target
            (met if meets else missed).append((name, cut))
    words = []
    if met:
        names, cuts = _listed(met)
        words.append(
            f"{names}: the smallest cut by {cuts} whose plain mean meets the target on these very queries; that "
            "promises nothing about others."
        )
    if missed:
        names, cuts = _listed(missed)
        words.append(f"No cut by {cuts} meets the target on these queries, so {names} would prune nothing.")
    return " ".join(words)


def _listed(baselines: list[tuple[str, str]]) -> tuple[str, str]:
    names, cuts = zip(*baselines, strict=True)
    return " and ".join(names), " and by ".join(cuts)


def _quality_row(name: str, point: Point) -> tuple[str, ...]:
    return name, f"{point.mean_kept:,.2f}", f"{point.measured:.4f}"


def marks_of(report: Report) -> list[Mark]:
    """The points that stand out."""
    curve, status = report.tradeoff, report.certificate.status
    named = {"certified": "certified", "uncertified": "chosen, not certified"}.get(status, "this certificate")
    points = (
        (named, curve.chosen, "diamond", "third"),
        ("EST", curve.est, "triangle-up", "fourth"),
        ("ERT", curve.ert, "square", "ink"),
        ("nothing pruned", curve.full, "circle", "muted"),
    )
    return [Mark(name, point, shape, colour) for name, point, shape, colour in points if point is not None]


def _sizes(report: Report, palette: Palette) -> Figure:
    sizes = report.sizes
    tail = sizes.quantiles
    spread = f"median {tail['p50']:,}, 95th percentile {tail['p95']:,}, 99th {tail['p99']:,}, largest {sizes.largest:,}"
    rows = [(_whole(bar), f"{bar.queries:,}", percent(bar.queries / report.data.queries)) for bar in sizes.bars]
    return Figure(
        name="kept-sizes",
        title="Candidates kept, query by query",
        caption=f"Mean {sizes.mean:,.1f}; {spread}. Latency lives in the tail.",
        description=f"Bars: how many of the {report.data.queries:,} queries keep so many candidates. {spread}.",
        chart=bars_chart(
            [(label, bar.queries, share, "main") for bar, (label, _, share) in zip(sizes.bars, rows, strict=True)],
            palette,
            "candidates kept",
        ),
        columns=("kept", "queries", "share"),
        rows=tuple(rows),
    )


def _changes(report: Report, palette: Palette) -> Figure:
    changes, measure = report.changes, report.certificate.measure
    shares = [percent(bar.queries / changes.queries) for bar in changes.bars]
    rows = [(_span(bar), f"{bar.queries:,}", share) for bar, share in zip(changes.bars, shares, strict=True)]
    counted = f"{changes.lost:,} queries are worse off, {changes.gained:,} better off, {changes.unchanged:,} as before"
    moved = "fall" if report.certificate.target["kind"] == "risk" else "change"
    return Figure(
        name="changes",
        title="Better and worse off, query by query",
        caption=(
            f"{counted} (not drawn). Over all queries, losses average {changes.mean_loss:.4f} of {measure}, gains "
            f"{changes.mean_gain:.4f}."
        ),
        description=f"Bars: how many queries are worse off (left of 0) or better off (right) by how much. {counted}.",
        chart=bars_chart(
            [
                (_span(bar), bar.queries, share, "second" if bar.high <= 0 else "main")
                for bar, share in zip(changes.bars, shares, strict=True)
            ],
            palette,
            f"{moved} of {measure} (negative: worse off)",
        ),
        columns=("change", "queries", "share"),
        rows=tuple(rows),
    )


def _chosen_in_words(report: Report) -> str:
    certificate, quantity, point = report.certificate, report.quantity, report.tradeoff.chosen
    if point is None:
        return "No threshold is certified."
    return (
        f"{capital(marks_of(report)[0].name)}: threshold "
        f"{threshold_shown(point.threshold, certificate.rule['name'], certificate.min_keep)}, "
        f"{point.mean_kept:,.1f} kept on average, {quantity.name} {quantity.shown(point.quantity)} measured, "
        f"{quantity.bound} {quantity.shown(point.bound)}."
    )


def _threshold_axis(rule: str) -> str:
    return "rank cut-off" if rule == "rank" else f"threshold ({rule} key)"


def _whole(bar: Bar) -> str:
    return f"{bar.low:,.0f}" if bar.low == bar.high else f"{bar.low:,.0f}–{bar.high:,.0f}"


def _span(bar: Bar) -> str:
    return f"{bar.low:+.1f} to {bar.high:+.1f}".replace("+0.0", "0").replace("-0.0", "0").replace("-", "−")
