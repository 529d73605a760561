"""What can be claimed of one fixed survivor set: the strongest claim, and an interval around the truth.

Both invert a test by fixed-sequence testing over a ladder of values that no data has touched, so they hold
with the confidence they state.
"""

import numpy as np

from surecut.arrays import Float64
from surecut.bounds.base import MeanTest
from surecut.targets import Target

_RUNGS = np.arange(1, 1000) / 1000.0


def loosest(target: Target) -> Target:
    """The weakest claim of this kind that is ever made: the first rung of the ladder."""
    return target.with_value(float(_RUNGS[0] if target.rising else _RUNGS[-1]))


def strongest_claim(target: Target, measured: Float64, full: Float64, test: MeanTest, delta: float) -> float | None:
    """The strongest value of this kind of claim that holds with confidence 1 - delta; None if none does."""
    reached = None
    for value in _RUNGS if target.rising else _RUNGS[::-1]:
        claim = target.with_value(float(value))
        if not test.decision(claim.variable(measured, full), claim.level, delta):
            break
        reached = float(value)
    return reached


def interval(target: Target, measured: Float64, full: Float64, test: MeanTest, delta: float) -> tuple[float, float]:
    """Bounds on the quantity the claim is about; each side is wrong with a probability of at most delta.

    A drop may be negative (the pruned list is better), so its ladder runs from -1 to 1; what lies below -1 is
    not told apart.
    """
    rungs = np.concatenate((-_RUNGS[::-1], [0.0], _RUNGS)) if target.is_drop else _RUNGS
    ends = (-np.inf if target.is_drop else 0.0, 1.0)

    def shown(value: float, claimed: bool) -> bool:
        x = np.clip(target.variable_at(value, measured, full), 0.0, 1.0)
        level = target.level_at(value)
        return test.decision(x, level, delta) if claimed else test.decision(1.0 - x, 1.0 - level, delta)

    lower, upper = ends
    for value in rungs:
        if not shown(float(value), claimed=target.rising):
            break
        lower = float(value)
    for value in rungs[::-1]:
        if not shown(float(value), claimed=not target.rising):
            break
        upper = float(value)
    return lower, upper
