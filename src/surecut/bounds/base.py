"""What every test has in common: how it is asked, and how it becomes a bound."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from surecut.arrays import Float64
from surecut.errors import InputError

Critical = Callable[[int, float, float], float]

_NO_TABLE = np.zeros(3)
_ROUNDING = 1e-9


def no_critical(n: int, level: float, delta: float) -> float:
    """For tests that decide as they go."""
    return 0.0


@dataclass(frozen=True)
class MeanTest:
    """A test of H0: E[X] >= level. `critical(n, level, delta)` is the number its kernel compares with."""

    name: str
    sentence: str
    code: int
    critical: Critical = no_critical
    certified: bool = True
    needs_binary: bool = False
    table: Callable[[], Float64] = field(default=lambda: _NO_TABLE, repr=False)

    def rejects(self, losses: Any, level: float, delta: float) -> bool:
        """Is E[X] >= level rejected, with a probability of at most `delta` of being wrong?

        >>> from surecut.bounds import HEDGE
        >>> HEDGE.rejects([0.0] * 100, level=0.1, delta=0.05)
        True
        """
        x = checked_losses(losses)
        if self.needs_binary and not np.isin(x, (0.0, 1.0)).all():
            raise InputError(f"the {self.name} test is for losses that are 0 or 1 by definition")
        return self.decision(x, level, delta)

    def decision(self, x: Float64, level: float, delta: float) -> bool:
        """`rejects` for losses that were checked before."""
        from surecut.kernels import testing as kernels

        check_range("level", level)
        check_range("delta", delta)
        memory = np.array([x.size, 0], dtype=np.int64)
        critical = self.critical(x.size, level, delta)
        checkpoints = kernels.checkpoints_for(x.size)
        return bool(kernels.decide(x, level, delta, self.code, critical, self.table(), checkpoints, memory, 0))

    def upper_bound(self, losses: Any, delta: float, step: float = 0.001) -> float:
        """The smallest level reached when levels fall from 1 - step until one is not rejected; 1 if none is.

        Valid as a bound because the order is fixed in advance and the first failure ends it.
        """
        x = checked_losses(losses)
        reached = 1.0
        for level in descending_levels(step):
            if not self.decision(x, level, delta):
                break
            reached = level
        return reached


def descending_levels(step: float = 0.001) -> Iterator[float]:
    """1 - step, 1 - 2 step, ..., step: a ladder that no data has touched."""
    count = round(1 / step)
    return (index / count for index in range(count - 1, 0, -1))


def checked_losses(losses: Any) -> Float64:
    """Finite losses in [0, 1], at least one; rounding errors of 1e-9 are clipped, anything more refused."""
    x = np.ascontiguousarray(losses, dtype=np.float64)
    if x.ndim != 1 or x.size < 1:
        raise InputError("a test needs a flat array of at least one loss")
    if not np.all((x >= -_ROUNDING) & (x <= 1 + _ROUNDING)):
        raise InputError("losses must be finite and lie in [0, 1]")
    return np.clip(x, 0.0, 1.0)


def check_range(what: str, value: float) -> None:
    if not 0.0 < value < 1.0:
        raise InputError(f"{what} must lie strictly between 0 and 1, not {value:g}")
