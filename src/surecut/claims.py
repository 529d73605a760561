"""What can be claimed of one fixed survivor set: the strongest claim, and an interval around the truth.

Both invert a test by fixed-sequence testing over a ladder of values that no data has touched, so they hold
with the confidence they state.
"""

from collections.abc import Callable, Iterable

import numpy as np

from surecut.arrays import Float64
from surecut.bounds.base import MeanTest
from surecut.targets import Target

_RUNGS: list[float] = (np.arange(1, 1000) / 1000.0).tolist()
_DROPS: list[float] = [
    *_RUNGS[:99:-1],
    *(np.arange(400, -401, -1) / 4000.0).tolist(),
    *(np.arange(-21, -200, -1) / 200.0).tolist(),
]
"""Drops are small: between -10% and 10% the rungs for reading are closer together."""


def loosest(target: Target) -> Target:
    """The weakest claim of this kind that is ever made: the first rung of the ladder."""
    return target.with_value(_weakest_first(target)[0])


def strongest_claim(target: Target, measured: Float64, full: Float64, test: MeanTest, delta: float) -> float | None:
    """The strongest value of this kind of claim that holds with confidence 1 - delta; None if none does."""
    return _last_shown(_weakest_first(target), lambda value: _shown(target, value, measured, full, test, delta))


def bound_for_reading(target: Target, measured: Float64, full: Float64, test: MeanTest, delta: float) -> float | None:
    """The same on a finer ladder, which for drops goes below 0: a bound on what the claim is about."""
    rungs = _DROPS if target.is_drop else _weakest_first(target)
    return _last_shown(rungs, lambda value: _shown(target, value, measured, full, test, delta))


def interval(target: Target, measured: Float64, full: Float64, test: MeanTest, delta: float) -> tuple[float, float]:
    """Bounds on the quantity the claim is about; each side is wrong with a probability of at most delta.

    A drop may be negative (the pruned list is better), so its ladder runs from -1 to 1; what lies below -1 is
    not told apart.
    """
    rungs = [*(-rung for rung in reversed(_RUNGS)), 0.0, *_RUNGS] if target.is_drop else _RUNGS

    def shown(value: float, claimed: bool) -> bool:
        return _shown(target, value, measured, full, test, delta, claimed)

    lower = _last_shown(rungs, lambda value: shown(value, claimed=target.rising))
    upper = _last_shown(reversed(rungs), lambda value: shown(value, claimed=not target.rising))
    lowest = -np.inf if target.is_drop else 0.0
    return lowest if lower is None else lower, 1.0 if upper is None else upper


def _weakest_first(target: Target) -> list[float]:
    return _RUNGS if target.rising else _RUNGS[::-1]


def _shown(
    target: Target,
    value: float,
    measured: Float64,
    full: Float64,
    test: MeanTest,
    delta: float,
    claimed: bool = True,
) -> bool:
    """Does the test show the claim of this value, or its opposite?"""
    x = np.clip(target.variable_at(value, measured, full), 0.0, 1.0)
    level = target.level_at(value)
    return test.decision(x, level, delta) if claimed else test.decision(1.0 - x, 1.0 - level, delta)


def _last_shown(rungs: Iterable[float], shown: Callable[[float], bool]) -> float | None:
    """Fixed-sequence testing: the last value that is shown before one is not."""
    reached = None
    for value in rungs:
        if not shown(value):
            break
        reached = value
    return reached
