"""The paper's tables with ours beside them, as Markdown."""

from collections.abc import Callable, Sequence

from benchmarks.reproduction.findings import Simulated
from benchmarks.reproduction.markdown import size, table
from benchmarks.reproduction.published import Result
from benchmarks.reproduction.real import Real
from benchmarks.reproduction.systems import simulated_system
from benchmarks.reproduction.trials import summaries
from surecut.trials.outcome import Summary

_NONE = "-"
_BOTH = "published / here"
_TABLE_3 = (
    "system",
    "method",
    f"RR@10, {_BOTH}",
    f"confidence, {_BOTH}",
    f"coverage on the batch, {_BOTH}",
    "coverage of the truth, here",
    f"mean size, {_BOTH}",
    "abstained, here",
)


def first_stages(found: Sequence[Simulated]) -> str:
    """Table 1."""
    seen = {(each.row.collection, each.row.retriever): each for each in found}
    rows = [
        [*names, f"{each.row.first_stage:.3f}", f"{each.behaviour.first_stage:.4f}", f"{each.behaviour.recall:.3f}"]
        for names, each in seen.items()
    ]
    return table(["collection", "retriever", "RR@10, published", "simulated", "queries with a hit in 1,000"], rows, 2)


def reranked(found: Sequence[Simulated]) -> str:
    """Table 2."""
    rows = [
        [each.row.collection, each.row.name, f"{each.row.reranked:.3f}", f"{each.behaviour.reranked:.4f}"]
        for each in found
    ]
    return table(["collection", "system", "RR@10, published (with fusion)", "simulated"], rows, 2)


def real_stages(found: Sequence[Real]) -> str:
    """Tables 1 and 2 of the shipped tables."""
    rows = [
        [
            each.name,
            f"{each.queries:,} x {each.mean_candidates:,.0f}",
            f"{each.first_stage:.4f}",
            f"{each.reranked:.4f}",
            f"{each.fused:.4f}",
            f"{each.weight:.3g}",
        ]
        for each in found
    ]
    heads = ["table", "queries x mean candidates", "RR@10, first stage", "reranked", "reranked + fused", "weight"]
    return table(heads, rows)


def table_3(found: Sequence[Simulated]) -> str:
    """Table 3 of a collection: the published figures and ours."""
    rows = []
    for each in found:
        name = f"{each.row.name}, target {each.row.target:.3f}"
        for method, summary in summaries(each.trials).items():
            rows.append([name, *_line(method, summary, each.row.methods.get(method))])
            name = ""
    return table(_TABLE_3, rows, 2)


def real_table_3(found: Sequence[Real]) -> str:
    """Table 3 of the shipped tables, which has nothing published beside it."""
    rows = []
    for each in found:
        name = f"{each.name}, target {each.target:.2f}, {each.trials.calibration:,} + {each.trials.test:,} queries"
        for method, summary in summaries(each.trials).items():
            rows.append([name, *_own_line(method, summary)])
            name = ""
    heads = ["table", "method", "RR@10", "confidence", "coverage on the batch", "coverage of the truth"]
    return table([*heads, "mean size", "abstained"], rows, 2)


def tuned(found: Sequence[Simulated]) -> str:
    """What was tuned to, what came of it, and with which parameters."""
    rows = []
    for each in found:
        system, seen, told = simulated_system(each.row), each.behaviour, each.row
        rows.append(
            [
                told.full_name,
                f"{told.first_stage:.3f} / {seen.first_stage:.4f}",
                f"{told.reranked:.3f} / {seen.reranked:.4f}",
                f"{told.methods['EST'].size:g} / {seen.est_size:.1f}",
                f"{told.methods['ERT'].size:g} / {seen.ert_size:.0f}",
                *(f"{x:.4f}" for x in (system.median_place, system.place_spread)),
                *(f"{x:.4f}" for x in (system.strength, system.shallow_strength)),
            ]
        )
    heads = ["system", "first stage", "reranked", "EST size", "ERT size"]
    return table([*heads, "median_place", "place_spread", "strength", "shallow_strength"], rows)


def _line(method: str, here: Summary, told: Result | None) -> list[str]:
    return [
        method,
        _pair(told and told.measure, here.measure, "{:.3f}".format),
        _pair(told and told.confidence, here.confidence, "{:.3f}".format),
        _pair(told and told.coverage, here.batch_coverage, "{:.2f}".format),
        f"{here.true_coverage:.2f}",
        _pair(told and told.size, here.mean_size, size),
        f"{here.abstained:.0%}",
    ]


def _pair(told: float | None, here: float | None, shown: Callable[[float], str]) -> str:
    """Published / here; one dash where there is neither."""
    both = [_NONE if value is None else shown(value) for value in (told, here)]
    return _NONE if both == [_NONE, _NONE] else " / ".join(both)


def _own_line(method: str, here: Summary) -> list[str]:
    confidence = _NONE if here.confidence is None else f"{here.confidence:.3f}"
    coverage = (f"{here.batch_coverage:.2f}", f"{here.true_coverage:.2f}")
    return [method, f"{here.measure:.4f}", confidence, *coverage, size(here.mean_size), f"{here.abstained:.0%}"]
