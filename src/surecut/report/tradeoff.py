"""Risk, its bound and quality along the thresholds: the curves behind the figures."""

import math
from dataclasses import dataclass, replace

import numpy as np

from surecut.arrays import Float64
from surecut.baselines import empirical_threshold
from surecut.calibration import Calibration
from surecut.choices import Choices
from surecut.claims import bound_for_reading
from surecut.preparing import Prepared, prepare
from surecut.rules import KEEP_EVERYTHING, RULES
from surecut.watching import SILENT, Watch

POINTS = 80


@dataclass(frozen=True)
class Point:
    """One threshold on the calibration queries; `bound` is None where none was asked for or none holds."""

    threshold: float
    mean_kept: float
    measured: float  # mean of the measure
    quantity: float  # what the claim is about: the drop, the measure, the overlap or the loss
    bound: float | None = None


@dataclass(frozen=True)
class Tradeoff:
    """The rule's curve from keeping the least to keeping everything, the rank rule's, and what stands on them."""

    rule: tuple[Point, ...]
    rank: tuple[Point, ...]  # empty where the rule is the rank rule
    full: Point  # nothing pruned
    chosen: Point | None  # None: nothing is certified, nothing is pruned
    est: Point | None  # None where the rule is the rank rule: ERT is the same
    ert: Point


def trade_off(rederived: Calibration, watch: Watch = SILENT) -> Tradeoff:
    """Walk along the thresholds of the rule and of the rank rule."""
    choices, prepared, decision = rederived.choices, rederived.prepared, rederived.decision
    ranked = rederived.fitted.rule.name == "rank"
    thresholds = spread(prepared, choices, decision.threshold)
    watch.stage("bounds", total=len(thresholds))
    points = []
    for threshold in thresholds:
        points.append(_point(prepared, choices, threshold, bounded=True))
        watch.advance(1)
    by_rank = prepared
    if not ranked:
        by_rank = prepare(prepared.data, choices, replace(rederived.fitted, rule=RULES["rank"]))
    level, abstained = choices.target.level, decision.status == "abstained"
    est, ert = (empirical_threshold(each.losses, level) for each in (prepared, by_rank))
    return Tradeoff(
        rule=tuple(points),
        rank=() if ranked else tuple(_point(by_rank, choices, t) for t in spread(by_rank, choices)),
        full=_unpruned(prepared, choices),
        chosen=None if abstained else _point(prepared, choices, decision.threshold, bounded=True),
        est=None if ranked else _point(prepared, choices, est),
        ert=_point(by_rank, choices, ert),
    )


def spread(prepared: Prepared, choices: Choices, own: float = KEEP_EVERYTHING) -> list[float]:
    """Thresholds at even steps of the logarithm of the mean size, from the smallest sets to everything."""
    keys = np.concatenate(list(prepared.data.map(prepared.rule.keys, scores_only=True)))
    queries = len(prepared.data)
    counts = np.unique(np.geomspace(min(queries, keys.size), keys.size, POINTS).astype(np.int64))
    places = keys.size - counts
    chosen: Float64 = np.partition(keys, places)[places]
    thresholds = {KEEP_EVERYTHING, own, math.inf, *chosen.tolist()}
    by_size = {float(prepared.kept(t, choices).mean()): t for t in sorted(thresholds, key=lambda t: t == own)}
    return [by_size[size] for size in sorted(by_size)]


def _point(prepared: Prepared, choices: Choices, threshold: float, bounded: bool = False) -> Point:
    target, full, measured = choices.target, prepared.curves.full, prepared.curves.at(threshold)
    bound = bound_for_reading(target, measured, full, choices.test, choices.delta) if bounded else None
    kept = float(prepared.kept(threshold, choices).mean())
    return Point(threshold, kept, float(measured.mean()), target.estimate(measured, full), bound)


def _unpruned(prepared: Prepared, choices: Choices) -> Point:
    full = prepared.curves.full
    kept = float(prepared.data.lengths.mean())
    return Point(KEEP_EVERYTHING, kept, float(full.mean()), choices.target.estimate(full, full))
