"""What surecut is compared with: EST, ERT, and the paper's procedure as published. None is certified."""

import math
from dataclasses import dataclass

import numpy as np

from surecut.arrays import Float64
from surecut.bounds import WSR, MeanTest
from surecut.curves import Curves
from surecut.rules import KEEP_EVERYTHING
from surecut.walk import Steps, midpoint, walk

PAPER_THRESHOLDS = 10_000
_TOLERANCE = 1e-12


def empirical_threshold(losses: Curves, level: float) -> float:
    """EST: the smallest set whose plain mean on the calibration queries meets the target.

    Over all breakpoints; the full list if no set meets it. With the keys of the rank rule this is ERT.
    """
    order = np.argsort(losses.keys, kind="stable")
    keys = losses.keys[order]
    means = losses.start.mean() + np.cumsum(losses.changes[order]) / len(losses)
    ends_group = np.concatenate((keys[1:] != keys[:-1], [True])) if keys.size else np.empty(0, np.bool_)
    met = np.flatnonzero(ends_group & (means <= level + _TOLERANCE))
    if met.size == 0:
        if losses.start.mean() > level + _TOLERANCE:
            return KEEP_EVERYTHING
        return float(keys[0]) if keys.size else math.inf  # what changes no loss may go
    last = int(met[-1])
    return math.inf if last + 1 == keys.size else midpoint(float(keys[last]), float(keys[last + 1]))


@dataclass(frozen=True)
class Published:
    """What the paper's procedure reports: a threshold, and its two corrections when the target is too high."""

    threshold: float
    reached: bool
    corrected_level: float | None = None  # the smallest bound over thresholds, its "risk correction"
    corrected_delta: float | None = None  # its "confidence correction"


def paper_grid() -> Float64:
    """Its 10,000 thresholds: even steps of the softmax probability from 0, as log-probability keys."""
    with np.errstate(divide="ignore"):
        return np.log(np.linspace(0.0, 1.0 - 1.0 / PAPER_THRESHOLDS, PAPER_THRESHOLDS))


def published_procedure(losses: Curves, level: float, delta: float) -> Published:
    """lambda-hat = the last threshold before the WSR bound first exceeds the target, and the corrections.

    The minimum over thresholds of pointwise bounds, and a delta raised after the fact, are what the paper
    does; neither keeps its promise, so nothing found here is called certified.
    """
    steps = Steps.over_grid(losses, paper_grid())
    found = walk(losses, steps, level, WSR, KEEP_EVERYTHING, delta, start_is_true=False)
    if found.threshold is not None:
        return Published(found.threshold, True)
    best, at = _smallest_bound(losses, steps, delta)
    return Published(KEEP_EVERYTHING, False, best, raised_delta(at, level, delta))


def raised_delta(x: Float64, level: float, delta: float, test: MeanTest = WSR) -> float | None:
    """The confidence correction: delta grows by hundredths until the level is rejected; None if it never is."""
    tried = (round(d, 10) for d in np.arange(delta, 1.0, 0.01))
    return next((d for d in tried if test.decision(x, level, d)), None)


def _smallest_bound(losses: Curves, steps: Steps, delta: float) -> tuple[float, Float64]:
    """The smallest WSR bound over all thresholds, and the losses where it is reached.

    A threshold whose mean does not lie below the smallest bound so far is passed over. A betting test might
    reject there all the same, early on, so that the true smallest bound can be a little smaller.
    """
    state = losses.start.copy()
    best, at = 1.0, state.copy()
    for step in range(steps.thresholds.size):
        low, high = int(steps.bounds[step]), int(steps.bounds[step + 1])
        if step and low == high:
            continue
        for event in range(low, high):
            state[steps.units[event]] = steps.values[event]
        if state.mean() < best and WSR.decision(state, best - 1e-6, delta):
            best, at = _wsr_bound(state, best - 1e-6, delta), state.copy()
    return best, at


def _wsr_bound(x: Float64, rejected: float, delta: float) -> float:
    """Bisection: the WSR wealth grows with the level, so its inversion is an interval."""
    low, high = float(x.mean()), rejected
    while high - low > 1e-7:
        middle = (low + high) / 2
        if WSR.decision(x, middle, delta):
            high = middle
        else:
            low = middle
    return high
