"""How many labelled queries a target needs, and the tightest target a sample could certify: estimates.

Nothing here is part of a claim. Calibrating again on a grown sample is another look at it: certify on fresh
queries only, or declare the looks in advance and spend delta / 2^i on look i.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from surecut.arrays import Float64
from surecut.bounds.base import check_range
from surecut.errors import InputError
from surecut.kernels.codes import HEDGE_CAP
from surecut.targets import Target

_PRACTICE = 1.3  # queries needed in practice, over the least that could do
ANOTHER_LOOK = (
    "an estimate, not a claim; calibrate on fresh queries: adding to a sample that was already looked at "
    "spends the confidence twice"
)


@dataclass(frozen=True)
class Advice:
    """What would probably do, for a target that could not be certified."""

    queries: int | None  # labelled queries for the target asked for; None: no number would do
    tightest: float | None  # the tightest target this many queries would probably certify
    mean_kept: float  # the set that both are about


def queries_needed(mean: float, variance: float, level: float, delta: float, power: float = 0.8) -> int | None:
    """About how many labelled queries would show that the mean of X is below a level: an estimate, never a claim.

    n = max( (z_{1-delta} + z_power)^2 var / (a - mean)^2,  1.3 ln(1/delta) / ln(1 + c (a - mean)/(1 - a)) )

    with a the level and c = 0.95. The first is what a normal approximation needs, the second what the wealth of the
    hedge test needs to grow to 1/delta. None where the mean does not lie below the level: no number would do.

    >>> queries_needed(mean=0.59, variance=0.19, level=0.62, delta=0.1)
    952

    Args:
        mean: Of X, the loss in [0, 1], at the set one hopes to certify.
        variance: Of X, over queries.
        level: The mean of X that the claim allows: 1 - v for at least v, 1/(2 - rho) for a relative drop of rho.
        delta: One minus the confidence; a third of that where there are three starts.
        power: The probability of success to plan for.
    """
    for what, value in (("level", level), ("delta", delta), ("power", power)):
        check_range(what, value)
    if not (variance >= 0 and math.isfinite(variance) and math.isfinite(mean)):
        raise InputError(f"mean and variance must be finite, and a variance not negative: {mean:g}, {variance:g}")
    margin = level - mean
    if margin <= 0:
        return None
    normal = NormalDist()
    z = normal.inv_cdf(1 - delta) + normal.inv_cdf(power)
    by_variance = z**2 * variance / margin**2
    by_growth = _PRACTICE * math.log(1 / delta) / math.log1p(HEDGE_CAP * margin / (1 - level))
    return math.ceil(max(by_variance, by_growth))


def advise(target: Target, full: Float64, paths: list[list[tuple[float, Float64]]], delta: float, units: int) -> Advice:
    """What `units` queries could claim, and how many the target needs, over several ways of walking.

    A path is a list of sets (mean kept, measured values) from its start to the set one hopes for: the walk must
    pass them all, so a path needs as many queries as its most demanding set.
    """

    def best(value: float) -> tuple[float, float]:
        claim = target.with_value(value)
        return min((max(_needed(claim, measured, full, delta) for _, measured in path), path[-1][0]) for path in paths)

    queries, kept = best(target.value)
    ladder = np.arange(1, 1000) / 1000.0
    tight_first = ladder[::-1] if target.rising else ladder
    tightest = next((float(value) for value in tight_first if best(float(value))[0] <= units), None)
    return Advice(None if math.isinf(queries) else int(queries), tightest, kept)


def _needed(claim: Target, measured: Float64, full: Float64, delta: float) -> float:
    x = claim.variable(measured, full)
    needed = queries_needed(float(x.mean()), float(x.var()), claim.level, delta)
    return math.inf if needed is None else needed
