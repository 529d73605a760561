"""What certificates do to a real system: claims, sizes, held-out quality, time on the clock."""

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
SEED = 1  # of the split
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
    tuning, calibration, held_out = read_table(table).split(SHARES, seed=SEED)
    beta = fit_fusion(tuning, as_measure(system.measure))
    recipe = read_recipe(system.path)
    targets = (max_drop(0.01), max_drop(0.02), at_least(system.at_least))
    claims = [_claim(system, recipe, target, beta, calibration, held_out) for target in targets]
    return Findings(
        system=system,
        name=recipe.name,
        queries=len(tuning) + len(calibration) + len(held_out),
        depth=recipe.depth,
        beta=beta,
        qualities=[_quality(calibration, held_out, beta, name) for name in _MEASURES],
        claims=claims,
    )


def _claim(
    system: System, recipe: Recipe, target: Target, beta: float, calibration: Candidates, held_out: Candidates
) -> Claim:
    certificate = calibrate(calibration, measure=system.measure, target=target, confidence=CONFIDENCE, fusion=beta)
    found = check(certificate, held_out, any_length=True)
    if certificate.status == "abstained":
        return Claim(certificate, found, None)
    queries = _chosen(recipe.collection.queries, set(held_out.query_ids.tolist()), system.timed_queries)
    return Claim(certificate, found, measure_speedup(Ranker(certificate, recipe), queries).to_dict())


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
