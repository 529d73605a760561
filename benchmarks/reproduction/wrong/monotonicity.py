"""The loss is not monotone: a candidate that enters may push the relevant one down."""

from dataclasses import dataclass

import numpy as np

from benchmarks.reproduction.measuring import curves_of, mean_kept
from surecut.arrays import Float64
from surecut.candidates import Candidates
from surecut.curves import Curves
from surecut.rules import KEEP_EVERYTHING, RULES

_ROUNDING = 1e-12
_THRESHOLDS = 200
ERRORS = 3.1  # standard errors: a gain beyond that is seen by chance less than once in a thousand times


@dataclass(frozen=True)
class Monotonicity:
    """How far a system is from what the paper assumes."""

    name: str
    real: bool
    not_monotone: float  # share of queries whose loss rises somewhere as the set grows
    full: float  # mean RR@10 with everything reranked
    best_size: float  # mean size of the best set, chosen on one half of the queries
    gain: float  # its RR@10 above that of the full list, on the other half
    error: float  # standard error of the gain

    @property
    def significant(self) -> bool:
        """Is the full list worse than the smaller set, beyond chance?"""
        return self.gain > ERRORS * self.error


def monotonicity(name: str, data: Candidates, *, beta: float = 0.0, real: bool = False) -> Monotonicity:
    """Count queries, and look for a set that beats the full list on queries which had no say in its choice."""
    rule = RULES["softmax"]
    keys, curves = rule.keys(data), curves_of(data, rule, beta)
    halves = np.random.default_rng(0).permutation(len(data))
    choosing, judging = curves.take(halves[::2]), curves.take(halves[1::2])
    threshold = _best_threshold(choosing, keys)
    gains = judging.at(threshold) - judging.full
    return Monotonicity(
        name=name,
        real=real,
        not_monotone=share_not_monotone(curves),
        full=float(curves.full.mean()),
        best_size=mean_kept(rule, data, threshold),
        gain=float(gains.mean()),
        error=float(gains.std() / np.sqrt(gains.size)),
    )


def share_not_monotone(curves: Curves) -> float:
    """Share of queries that lose somewhere although more of their candidates are kept."""
    rises = np.bincount(curves.owners[curves.changes > _ROUNDING], minlength=len(curves))
    return float(np.mean(rises > 0))


def _best_threshold(curves: Curves, keys: Float64) -> float:
    thresholds = [KEEP_EVERYTHING, *np.quantile(keys, np.linspace(0, 1, _THRESHOLDS) ** 0.25)]
    return float(thresholds[int(np.argmax([curves.at(each).mean() for each in thresholds]))])
