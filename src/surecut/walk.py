"""The fixed-sequence walk: from "keep everything" to ever smaller sets, until one cannot be certified.

Thresholds are tested in an order fixed in advance, each at the level of the one before, stopping at the first
that is not rejected. That needs no monotone risk, and it is valid over all breakpoints of the calibration data:
between two of them nothing changes, so walking them is walking the continuum. A coarser grid is valid only
when no calibration query had a say in it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from surecut.arrays import Float64, Int64
from surecut.bounds.base import MeanTest, check_range
from surecut.curves import Curves
from surecut.kernels import testing as kernels
from surecut.kernels.events import events_by_step
from surecut.rules import DELTA_SHARES, KEEP_EVERYTHING


@dataclass(frozen=True, eq=False)
class Steps:
    """The hypotheses in order: step `i` applies events `bounds[i]` to `bounds[i + 1]`, then is tested.

    `thresholds[i]` is the key that step `i` removes (exact; the first removes what lies below all of them), or
    the grid point it stands for (fixed).
    """

    thresholds: Float64
    exact: bool
    bounds: Int64
    units: Int64
    values: Float64

    @classmethod
    def over_breakpoints(cls, losses: Curves) -> "Steps":
        """One step for the removals that change no loss, then one for each distinct key at which any does."""
        order = np.argsort(losses.keys, kind="stable")
        keys = losses.keys[order]
        heads = np.flatnonzero(np.diff(keys, prepend=-np.inf))
        bounds = np.concatenate(([0], heads, [keys.size]))
        thresholds = np.concatenate(([KEEP_EVERYTHING], keys[heads]))
        return cls(thresholds, True, bounds, losses.owners[order], losses.values[order])

    @classmethod
    def over_grid(cls, losses: Curves, grid: Float64) -> "Steps":
        """One step for each grid point; the first must keep everything."""
        return cls(grid, False, *events_by_step(losses.keys, losses.values, losses.offsets, grid))

    def begin(self, start: float) -> int:
        """How many steps lie at or before a start, and are applied without being tested."""
        place = int(np.searchsorted(self.thresholds, start, side="left"))
        return place if self.exact else min(place, self.thresholds.size - 1) + 1

    def threshold_after(self, start: float, first: int, passed: int, end: float) -> float:
        """The certified threshold, `end` at most, once `passed` steps beyond the start were rejected."""
        if not self.exact:
            return float(self.thresholds[first - 1 + passed])
        if passed == 0 and start == KEEP_EVERYTHING:
            return KEEP_EVERYTHING
        following = first + passed
        failed = math.inf if following == self.thresholds.size else float(self.thresholds[following])
        return midpoint(max(start, float(self.thresholds[following - 1])), min(failed, end))


@dataclass(frozen=True)
class Chain:
    """One walk: the steps it passed and the threshold that certifies (-1 and None: its start already failed)."""

    passed: int
    threshold: float | None
    complete: bool  # did it come to its end?


def walk(
    losses: Curves,
    steps: Steps,
    level: float,
    test: MeanTest,
    start: float,
    delta: float,
    start_is_true: bool,
    end: float = math.inf,
) -> Chain:
    """Walk one chain, from `start` to `end`. `losses` holds one curve a unit, in the pre-registered order.

    `start_is_true` says that the hypothesis at the start needs no test: a drop claim holds by definition
    when nothing is pruned.
    """
    check_range("level", level)
    check_range("delta", delta)
    if start_is_true and start != KEEP_EVERYTHING:
        raise ValueError("only the claim about everything may be true by definition")
    first, beyond = steps.begin(start), steps.begin(end)
    state = np.ascontiguousarray(losses.start).copy()
    kernels.apply_events(state, steps.units, steps.values, 0, int(steps.bounds[first]))
    passed = kernels.steps_passed(
        state,
        level,
        delta,
        test.code,
        test.critical(state.size, level, delta),
        test.table(),
        kernels.checkpoints_for(state.size),
        steps.units,
        steps.values,
        steps.bounds[: beyond + 1],
        first,
        not start_is_true,
    )
    if passed < 0:
        return Chain(-1, None, False)
    return Chain(passed, steps.threshold_after(start, first, passed, end), first + passed == beyond)


def fallback(
    losses: Curves,
    steps: Steps,
    level: float,
    test: MeanTest,
    starts: Sequence[float],
    delta: float,
    start_is_true: bool,
    head_failed: bool = False,
) -> float | None:
    """The smallest set that chains from several starts reach, or None: the fallback procedure.

    Each start has its share of delta and is walked as far as the next one. A chain that comes so far passes on
    the level that it was tested at, so that a walk which never fails ends with all of delta. A rejection at a
    level counts only where every larger level that might have been in use rejects too: betting tests are tuned
    to their level, and need not be nested by themselves. `head_failed` says that the first chain is lost already.
    """
    if list(starts) != sorted(starts):
        raise ValueError(f"starts must ascend, not {starts}")
    shares, ends = DELTA_SHARES[len(starts)], (*starts[1:], math.inf)
    reached: list[float] = []
    inherited = 0  # from how many chains before this one, without a gap, levels were passed on
    for place, (start, end) in enumerate(zip(starts, ends, strict=True)):
        if place == 0 and head_failed:
            continue
        possible = (delta * math.fsum(shares[oldest : place + 1]) for oldest in range(place - inherited, -1, -1))
        chains = [walk(losses, steps, level, test, start, each, start_is_true, end) for each in possible]
        shortest = min(chains, key=lambda chain: chain.passed)
        if shortest.threshold is not None:
            reached.append(shortest.threshold)
        inherited = inherited + 1 if shortest.complete else 0
    return max(reached, default=None)


def midpoint(lower: float, upper: float) -> float:
    """A threshold in (lower, upper]: the middle, or the upper end where rounding leaves no middle."""
    if lower == KEEP_EVERYTHING:
        return upper
    middle = lower + (upper - lower) / 2
    return middle if lower < middle <= upper else upper
