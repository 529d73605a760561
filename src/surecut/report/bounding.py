"""The bound on a claim's quantity at one threshold, for reading: a test inverted over a ladder fixed in advance."""

import numpy as np

from surecut.arrays import Float64
from surecut.bounds.base import MeanTest
from surecut.targets import Target

_EVEN = 0.001
_COARSE, _FINE = 0.01, 0.00025
_NEAR = 0.1  # drops are small: below this, in both directions, the rungs are close together


def _ladder(target: Target) -> list[float]:
    """Values from the weakest claim to the strongest."""
    if target.is_drop:
        far = np.arange(round(1 / _COARSE) - 1, round(_NEAR / _COARSE), -1) * _COARSE
        steps = round(_NEAR / _FINE)
        return [*far.tolist(), *(np.arange(steps, -steps - 1, -1) * _FINE).tolist()]
    even: list[float] = (np.arange(1, round(1 / _EVEN)) * _EVEN).tolist()
    return even if target.rising else even[::-1]


def bound_at(target: Target, measured: Float64, full: Float64, test: MeanTest, delta: float) -> float | None:
    """The last value claimed before one is not rejected; None if not even the weakest is."""
    reached = None
    for value in _ladder(target):
        x = np.clip(target.variable_at(value, measured, full), 0.0, 1.0)
        if not test.decision(x, target.level_at(value), delta):
            break
        reached = value
    return reached
