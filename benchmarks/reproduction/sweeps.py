"""What the paper's figures 2 to 4 are drawn from: the published procedure over thresholds, and over targets."""

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.reproduction.measuring import curves_of, fitted_rule, mean_kept
from benchmarks.reproduction.published import CONFIDENCE
from surecut.baselines import published_procedure
from surecut.bounds import HEDGE, WSR
from surecut.candidates import Candidates
from surecut.choices import Choices, resolve
from surecut.curves import Curves
from surecut.deciding import decide
from surecut.fitting import Fitted, fit
from surecut.folding import Folds
from surecut.targets import at_least
from surecut.trials.drawing import Draw, redraw, split
from surecut.trials.pool import Applied, Pool
from surecut.watching import Watch

_POINTS = 60
_LADDER = 0.0005


@dataclass(frozen=True)
class RiskPoint:
    """A threshold: how much it keeps, the risk on one calibration sample, its bounds, and the truth."""

    threshold: float  # of the calibrated score, a probability
    kept: float
    empirical: float
    wsr: float
    hedge: float
    truth: float


@dataclass(frozen=True)
class RiskCurve:
    """Figure 2: a calibration sample, and where the published procedure ends on it."""

    points: Sequence[RiskPoint]
    level: float
    chosen: float | None  # lambda-hat; None where no threshold passes
    queries: int


def risk_curve(data: Candidates, target: float, calibration: int, seed: int) -> RiskCurve:
    """Risk and bounds over thresholds, on the first calibration sample of the trials with that seed."""
    pool = Pool.of(data, "", judged=True)
    drawn, _ = split(pool, calibration, seed, 0)
    rule = fitted_rule(pool.data.take(drawn.units))
    keys, everyone = rule.keys(pool.data), curves_of(pool.data, rule)
    claim, delta = at_least(target), 1 - CONFIDENCE
    losses, truth = claim.losses(everyone.take(drawn.units)), claim.losses(everyone)
    found = published_procedure(losses, claim.level, delta)
    low, high = np.quantile(keys, 0.005), float(np.quantile(keys[pool.data.offsets[:-1]], 0.75))
    points = []
    for threshold in np.linspace(low, high, _POINTS):
        x = losses.at(threshold)
        points.append(
            RiskPoint(
                threshold=math.exp(threshold),
                kept=mean_kept(rule, pool.data, threshold),
                empirical=float(x.mean()),
                wsr=WSR.upper_bound(x, delta, _LADDER),
                hedge=HEDGE.upper_bound(x, delta, _LADDER),
                truth=float(truth.at(threshold).mean()),
            )
        )
    return RiskCurve(points, claim.level, math.exp(found.threshold) if found.reached else None, calibration)


@dataclass(frozen=True)
class Claimed:
    """The published procedure once, for one target: what it promised, and what came of it."""

    reached: bool
    confidence: float
    size: float
    measure: float  # on the test batch
    holds_on_batch: bool
    holds: bool  # of the truth; from a draw with replacement
    smallest_bound: float | None


@dataclass(frozen=True)
class TargetPoint:
    """The published procedure for one target, over all trials."""

    target: float
    reached: float
    confidence: float
    size: float
    measure: float
    batch_coverage: float
    true_coverage: float
    smallest_bound: float | None  # mean over the trials in which the target was not reached


def target_sweep(
    data: Candidates, targets: Sequence[float], calibration: int, trials: int, seed: int, watch: Watch
) -> list[TargetPoint]:
    """Figures 3 and 4: the same draws for every target, those of the trials with that seed."""
    pool = Pool.of(data, "", judged=True)
    watch.stage("figures 3 and 4", trials)

    def one(trial: int) -> list[Claimed]:
        return _one_trial(pool, targets, calibration, seed, trial)

    with ThreadPoolExecutor() as executor:
        found = []
        for claimed in executor.map(one, range(trials)):
            found.append(claimed)
            watch.advance(1)
    return [_point(target, claims) for target, claims in zip(targets, zip(*found, strict=True), strict=True)]


def _one_trial(pool: Pool, targets: Sequence[float], calibration: int, seed: int, trial: int) -> list[Claimed]:
    drawn, tested = split(pool, calibration, seed, trial)
    choices = resolve(target=at_least(targets[0]), confidence=CONFIDENCE, procedure="paper")
    sample, population = (_fitted(pool, choices, each) for each in (drawn, redraw(pool, calibration, seed, trial)))
    claims = []
    for target in targets:
        asked = replace(choices, target=at_least(target))
        found, measured = sample.decided(asked)
        _, true_measured = population.decided(asked)
        kept = sample.applied.keyed.kept(found.threshold, asked.min_keep, asked.max_keep)[tested]
        relaxed = found.relaxed or {}
        claims.append(
            Claimed(
                reached=found.relaxed is None,
                confidence=float(relaxed.get("published_confidence", CONFIDENCE) or 0.0),
                size=float(kept.mean()),
                measure=float(measured[tested].mean()),
                holds_on_batch=bool(measured[tested].mean() >= target),
                holds=bool(true_measured.mean() >= target),
                smallest_bound=relaxed.get("published_level"),
            )
        )
    return claims


@dataclass(frozen=True, eq=False)
class _Sample:
    """A calibration sample after its temperature was fitted, ready for any target."""

    applied: Applied
    fitted: Fitted
    curves: Curves  # of its queries

    def decided(self, asked: Choices) -> tuple:
        """What the procedure decides for a target, and the measure of every query of the pool then."""
        found = decide(asked, self.fitted, asked.target.losses(self.curves), capped=False)
        return found, self.applied.curves.at(found.threshold)


def _fitted(pool: Pool, choices: Choices, drawn: Draw) -> _Sample:
    fitted = fit(Folds(pool.data, pool.data.take(drawn.units)), choices, choices.measure)
    applied = pool.applied(choices, fitted)
    return _Sample(applied, fitted, applied.curves.take(drawn.units))


def _point(target: float, claims: Sequence[Claimed]) -> TargetPoint:
    bounds = [each.smallest_bound for each in claims if each.smallest_bound is not None]
    return TargetPoint(
        target=target,
        reached=float(np.mean([each.reached for each in claims])),
        confidence=float(np.mean([each.confidence for each in claims])),
        size=float(np.mean([each.size for each in claims])),
        measure=float(np.mean([each.measure for each in claims])),
        batch_coverage=float(np.mean([each.holds_on_batch for each in claims])),
        true_coverage=float(np.mean([each.holds for each in claims])),
        smallest_bound=float(np.mean(bounds)) if bounds else None,
    )
