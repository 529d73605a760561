"""What certificates do to a real system: claims, sizes, held-out quality, time on the clock."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.real.systems import System
from surecut.calibration import calibrate
from surecut.candidates import Candidates
from surecut.certificate import Certificate
from surecut.checking import Check, check
from surecut.curves import full_measure
from surecut.fusion import final_scores, fit_fusion
from surecut.io.table import read_table
from surecut.measures import as_measure
from surecut.system.collection import Queries
from surecut.system.ranker import Ranker
from surecut.system.recipe import Recipe, read_recipe
from surecut.system.speedup import measure_speedup
from surecut.targets import Target, at_least, max_drop

SHARES = (0.2, 0.5, 0.3)  # tuning, calibration, held out
OTHER_SPLITS = 10
CONFIDENCE = 0.9
_MEASURES = ("RR@10", "nDCG@10")


@dataclass(frozen=True)
class Quality:
    """A measure of the three ways to order the candidates, on queries that did not tune."""

    measure: str
    retriever: float
    reranker: float
    fused: float


@dataclass(frozen=True)
class Claim:
    """One claim on one system."""

    certificate: Certificate
    check: Check
    speedup: dict[str, Any] | None  # None where nothing was pruned
    elsewhere: list[float]  # mean kept, where the same claim was certified on other splits


@dataclass(frozen=True)
class Findings:
    """Everything the page says of one system."""

    system: System
    name: str
    queries: int
    depth: int
    beta: float
    qualities: list[Quality]
    claims: list[Claim]


def find(system: System, table: Path) -> Findings:
    """Tune, certify, check on held-out queries and time, each on queries of its own."""
    data = read_table(table)
    tuning, calibration, held_out = data.split(SHARES)
    beta = fit_fusion(tuning, as_measure(system.measure))
    recipe = read_recipe(system.path)
    targets = (max_drop(0.01), max_drop(0.02), at_least(system.at_least))
    elsewhere = _on_other_splits(system, data, targets)
    claims = [
        _claim(system, recipe, target, beta, calibration, held_out, kept)
        for target, kept in zip(targets, elsewhere, strict=True)
    ]
    return Findings(
        system=system,
        name=recipe.name,
        queries=len(data),
        depth=recipe.depth,
        beta=beta,
        qualities=[_quality(calibration, held_out, beta, name) for name in _MEASURES],
        claims=claims,
    )


def _on_other_splits(system: System, data: Candidates, targets: Sequence[Target]) -> list[list[float]]:
    """Mean kept for each target on each other split where it is certified: how much of a figure is the split's."""
    kept: list[list[float]] = [[] for _ in targets]
    for seed in range(1, OTHER_SPLITS + 1):
        tuning, calibration, _ = data.split(SHARES, seed=seed)
        beta = fit_fusion(tuning, as_measure(system.measure))
        for target, found in zip(targets, kept, strict=True):
            certificate = _certify(system, target, beta, calibration)
            if certificate.certified:
                found.append(certificate.mean_kept)
    return kept


def _certify(system: System, target: Target, beta: float, calibration: Candidates) -> Certificate:
    return calibrate(calibration, measure=system.measure, target=target, confidence=CONFIDENCE, fusion=beta)


def _claim(
    system: System,
    recipe: Recipe,
    target: Target,
    beta: float,
    calibration: Candidates,
    held_out: Candidates,
    elsewhere: list[float],
) -> Claim:
    certificate = _certify(system, target, beta, calibration)
    found = check(certificate, held_out, any_length=True)
    if certificate.status == "abstained":
        return Claim(certificate, found, None, elsewhere)
    queries = _chosen(recipe.collection.queries, set(held_out.query_ids.tolist()), system.timed_queries)
    speedup = measure_speedup(Ranker(certificate, recipe), queries).to_dict()
    return Claim(certificate, found, speedup, elsewhere)


def _chosen(queries: Queries, wanted: set[str], count: int) -> Queries:
    places = [place for place, name in enumerate(queries.ids) if name in wanted][:count]
    return Queries([queries.ids[i] for i in places], [queries.texts[i] for i in places])


def _quality(calibration: Candidates, held_out: Candidates, beta: float, measure: str) -> Quality:
    def mean(weight: float) -> float:
        parts = [(len(part), _mean(part, weight, measure)) for part in (calibration, held_out)]
        return sum(count * value for count, value in parts) / sum(count for count, _ in parts)

    return Quality(measure, mean(1.0), mean(0.0), mean(beta))


def _mean(data: Candidates, beta: float, measure: str) -> float:
    return float(full_measure(data, final_scores(data, beta), as_measure(measure)).mean())
