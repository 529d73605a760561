"""Samples for trials: which units certify, which are tested, and in which order they are looked at."""

from dataclasses import dataclass

import numpy as np

from surecut.arrays import Bool, Float64, Int64
from surecut.errors import InputError
from surecut.trials.pool import Pool

_SPLIT, _REDRAW = 0, 1


@dataclass(frozen=True, eq=False)
class Draw:
    """Units of a pool by position, in the order the tests look at them.

    `place` lies in [0, 1) and decides who belongs to a tuning fold, as the hash of an id does.
    """

    units: Int64
    place: Float64

    def divided(self, share: float) -> tuple["Draw", "Draw"]:
        """Those that certify, and a tuning fold of about that share."""
        tuning: Bool = self.place < share
        return self._where(~tuning), self._where(tuning)

    def _where(self, chosen: Bool) -> "Draw":
        return Draw(self.units[chosen], self.place[chosen])


@dataclass(frozen=True, eq=False)
class Drawn:
    """What every method gets in one trial."""

    trial: int
    split: Draw  # without replacement
    tested: Int64  # units of the pool that is tested, none of which calibrates in `split`
    redrawn: Draw  # with replacement


def draw(source: Pool, target: Pool, sizes: tuple[int, int], seed: int, trial: int) -> Drawn:
    """Calibration units of one pool, and test units of the same or of another one that may share queries with it."""
    calibration, test = sizes
    calibrating, left = split(source, calibration, seed, trial)
    if target is not source:
        seen = set(source.ids[calibrating.units])
        left = split(target, calibration, seed, trial)[1]
        left = left[[unit not in seen for unit in target.ids[left]]]
        if left.size == 0:
            raise InputError(f"every test query of {target.name} calibrates too: ask for fewer with --calibration")
    return Drawn(trial, calibrating, left[:test], redraw(source, calibration, seed, trial))


def split(pool: Pool, calibration: int, seed: int, trial: int) -> tuple[Draw, Int64]:
    """A random sample without replacement, in the pre-registered order of its ids, and the units it left."""
    shuffled = np.random.default_rng([seed, trial, _SPLIT]).permutation(len(pool))
    units = shuffled[:calibration]
    units = units[np.argsort(pool.order[units], kind="stable")]
    return Draw(units, pool.place[units]), shuffled[calibration:]


def redraw(pool: Pool, calibration: int, seed: int, trial: int) -> Draw:
    """A sample drawn with replacement: the pool is the population, and every draw a new id, so in random order."""
    rng = np.random.default_rng([seed, trial, _REDRAW])
    return Draw(rng.integers(0, len(pool), calibration), rng.random(calibration))
