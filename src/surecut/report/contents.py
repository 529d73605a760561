"""What a report says, as names and values in words: the same for the page and for Markdown."""

from collections.abc import Iterator
from dataclasses import dataclass

from surecut.counting import thin_judgements
from surecut.report.explorer import Explorer, Outcome
from surecut.report.gathering import Report
from surecut.report.per_query import WORST
from surecut.report.quantities import capital, confidence_shown, percent, threshold_shown
from surecut.report.wording import STANDINGS
from surecut.rules import RULES


@dataclass(frozen=True)
class Fact:
    """A number in large type, with what is to be known beside it."""

    name: str
    value: str
    beside: str = ""


@dataclass(frozen=True)
class Verdict:
    """What queries that took no part say about the claim."""

    title: str
    tone: str  # good, caution, bad
    verdict: str
    sentence: str


@dataclass(frozen=True)
class Cell:
    """One certificate of the explorer, in words."""

    status: str
    threshold: str
    kept: str
    p95: str
    speedup: str
    bound: str
    share: float  # of the candidates that are kept


CELL_TITLES = {
    "status": "status",
    "threshold": "threshold",
    "kept": "mean kept",
    "p95": "95th percentile kept",
    "speedup": "speed-up",
    "bound": "bound",
}


def facts_of(report: Report) -> list[Fact]:
    """The numbers people look for first."""
    certificate, numbers = report.certificate, report.certificate.calibration
    tail = numbers["kept_quantiles"]
    found = [
        Fact(
            "candidates reranked",
            f"{certificate.mean_kept:,.1f} of {numbers['mean_candidates']:,.0f}",
            f"median {tail['p50']:,}, 95th percentile {tail['p95']:,}, 99th {tail['p99']:,}",
        ),
        Fact("speed-up", f"{certificate.speedup:,.1f} ×", "in candidates, not on the clock"),
        Fact(
            certificate.measure,
            f"{numbers['mean_pruned']:.4f}",
            f"{numbers['mean_full']:.4f} with everything reranked",
        ),
        Fact("confidence asked for", confidence_shown(certificate.confidence), f"from {_counted(report)}"),
    ]
    if report.ms_per_pair is not None:
        full, pruned = (x * report.ms_per_pair for x in (numbers["mean_candidates"], certificate.mean_kept))
        slowest = tail["p99"] * report.ms_per_pair
        beside = f"{full:,.0f} ms before; 99th percentile {slowest:,.0f} ms"
        found.append(Fact("reranking a query", f"{pruned:,.0f} ms", beside))
    return found


def verdict_of(report: Report) -> Verdict | None:
    """The check on held-out queries, if there was one."""
    check, quantity = report.check, report.quantity
    if check is None:
        return None
    low, high = (quantity.shown(end) for end in check.interval)
    title, tone, verdict = "On queries it has not seen", "good", "Not contradicted."
    if report.seen:
        seen = "all of these" if report.seen >= check.queries else f"{report.seen:,} of these {check.queries:,}"
        title, tone = "A check, but not an independent one", "caution"
        verdict = f"The certificate was made from {seen} queries itself."
    if check.contradicted:
        tone, verdict = "bad", "Contradicted by these queries."
    if report.certificate.status == "abstained":
        verdict = "Nothing was claimed."
    judge = "" if check.judge_difference is None else " surecut and ir-measures, evaluating separately, agree."
    return Verdict(
        title,
        tone,
        verdict,
        f"{capital(quantity.name)} {quantity.shown(check.estimate)} on {check.queries:,} queries, 90% "
        f"interval {low} to {high}; claimed {quantity.claim} {quantity.target(check.claimed)}. {check.mean_kept:,.1f} "
        f"of {check.mean_candidates:,.1f} candidates kept.{judge}",
    )


def cell_of(report: Report, outcome: Outcome) -> Cell:
    """A certificate of the explorer, as it is shown."""
    certificate, mean = report.certificate, float(report.certificate.calibration["mean_candidates"])
    standing = STANDINGS[outcome.status]
    status = f"{standing.sign} {standing.badge}"
    if outcome.status == "relaxed-target" and outcome.relaxed is not None:
        status += f" to {report.quantity.target(outcome.relaxed['value'])}"
    return Cell(
        status,
        threshold_shown(outcome.threshold, certificate.rule["name"], certificate.min_keep),
        f"{outcome.mean_kept:,.1f} of {mean:,.0f}",
        f"{outcome.p95:,}",
        f"{outcome.speedup:,.1f} ×",
        report.quantity.shown(outcome.bound),
        outcome.mean_kept / mean,
    )


def explored(report: Report, explorer: Explorer, only: int | None = None) -> list[tuple[str, ...]]:
    """The explorer as a table: target, confidence (all, or one of them), and both ways of choosing the target."""
    rows: list[tuple[str, ...]] = []
    for c in range(len(explorer.confidences)) if only is None else [only]:
        for t, target in enumerate(explorer.targets):
            alone, divided = (cell_of(report, each[c][t]) for each in (explorer.alone, explorer.divided))
            rows.append(
                (
                    report.quantity.claimed(target),
                    confidence_shown(explorer.confidences[c]),
                    *(alone.status, alone.threshold, alone.kept, alone.speedup, alone.bound),
                    *(divided.status, divided.threshold, divided.kept, divided.speedup),
                )
            )
    return rows


def explored_columns(report: Report) -> tuple[str, ...]:
    return (
        "target",
        "confidence",
        *("status", "threshold", "mean kept", "speed-up", report.quantity.bound),
        *(f"{name}, chosen after looking" for name in ("status", "threshold", "mean kept", "speed-up")),
    )


WORST_COLUMNS = ("query", "everything reranked", "pruned", "kept")


def worst_rows(report: Report) -> list[tuple[str, ...]]:
    """The queries that lose most."""
    return [
        (hit.query, f"{hit.full:.4f}", f"{hit.pruned:.4f}", f"{hit.kept:,} of {hit.candidates:,}")
        for hit in report.changes.worst
    ]


def worst_caption(report: Report) -> str:
    lost, shown = report.changes.lost, min(WORST, report.changes.lost)
    which = "All of them, the worst first" if shown == lost else f"The {shown} that lose most"
    return f"{lost:,} of {report.changes.queries:,} queries are worse off. {which}:"


def thin_judgements_of(report: Report) -> str | None:
    return thin_judgements(report.data.counts)


def sheet_of(report: Report) -> list[tuple[str, str]]:
    """The data and the certificate, line by line."""
    return [*_data_rows(report), *_method_rows(report), *_identity_rows(report)]


def _data_rows(report: Report) -> Iterator[tuple[str, str]]:
    data, counts = report.data, report.data.counts
    yield "calibrated on", _counted(report)
    yield "candidates", f"{data.candidates:,}, lists of {data.shortest:,} to {data.longest:,} (depth {data.depth:,})"
    if counts["judgements_used"]:
        unjudged, absent = counts["unjudged_queries"], counts["absent_queries"]
        yield "left out", f"{unjudged:,} queries not judged, {absent:,} judged but not in the run"
        zero = f", {counts['absent_as_zero']:,} not in the run" if counts["absent_as_zero"] else ""
        yield "counted as 0", f"{counts['queries_without_relevant']:,} queries with no relevant document{zero}"
    if counts["filled_reranked"]:
        yield "placed last", f"{counts['filled_reranked']:,} candidates without a reranker score"
    if counts["judged_share"] is not None:
        yield f"judged share of the final top {counts['judged_depth']}", percent(counts["judged_share"])
    if data.ceiling is not None:
        yield (
            "recall of the first stage",
            f"{percent(data.ceiling.recall)} of the relevant documents are candidates, "
            f"{percent(data.ceiling.reachable)} of the queries have one: the ceiling for any reranker",
        )


def _method_rows(report: Report) -> Iterator[tuple[str, str]]:
    certificate = report.certificate
    rule = RULES[certificate.rule["name"]].with_parameters(certificate.rule["parameters"])
    yield "rule", f"{rule}: {rule.sentence}"
    yield "threshold", threshold_shown(certificate.threshold, certificate.rule["name"], certificate.min_keep)
    most = "" if certificate.max_keep is None else f", at most {certificate.max_keep:,}"
    yield "kept in any case", f"at least {certificate.min_keep:,}{most}"
    yield "pruned documents", {"drop": "leave the list", "append": "follow in retriever order"}[certificate.tail]
    if certificate.fusion["beta"]:
        fitted = ", fitted" if certificate.fusion["fitted"] else ""
        yield "fusion", f"{certificate.fusion['beta']:.4g} of the retriever's score{fitted}"
    test = "none" if certificate.procedure in ("est", "ert") else certificate.test
    grid = f"{certificate.grid['kind']} grid, starts: {certificate.grid['starts']}"
    yield "test", f"{test} ({certificate.procedure}, {grid})"
    if certificate.tune is not None:
        purposes = ", ".join(certificate.tune["for"])
        which = "of these queries" if certificate.tune["source"] == "calibration" else "other queries"
        yield "tuned on", f"{certificate.tune['queries']:,} {which} ({certificate.tune['source']}): {purposes}"


def _identity_rows(report: Report) -> Iterator[tuple[str, str]]:
    certificate = report.certificate
    for part in ("retriever", "reranker"):
        yield f"fingerprint of the {part}", certificate.system.get(part, "not known")
    yield "fingerprint of the data", str(certificate.calibration["fingerprint"])
    yield "digest of the certificate", certificate.digest


def _counted(report: Report) -> str:
    data = report.data
    return f"{data.queries:,} queries" + (f" in {data.units:,} groups" if data.units != data.queries else "")
