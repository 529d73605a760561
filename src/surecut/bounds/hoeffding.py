"""hoeffding: p = exp(-n h(min(r, a), a)) with r the mean and h the binary relative entropy."""

import math
from functools import lru_cache

from surecut.bounds.base import MeanTest
from surecut.kernels.codes import CRITICAL_SUM


def relative_entropy(r: float, a: float) -> float:
    """h(r, a) = r ln(r/a) + (1 - r) ln((1 - r)/(1 - a)), with 0 ln 0 = 0."""
    first = r * math.log(r / a) if r > 0 else 0.0
    second = (1 - r) * math.log((1 - r) / (1 - a)) if r < 1 else 0.0
    return first + second


@lru_cache(maxsize=4096)
def critical_sum(n: int, level: float, delta: float) -> float:
    """The largest sum whose p-value is at most delta; -1 when there is none."""
    needed = math.log(1 / delta) / n
    if relative_entropy(0.0, level) < needed:
        return -1.0
    low, high = 0.0, level
    for _ in range(100):
        middle = (low + high) / 2
        if relative_entropy(middle, level) >= needed:
            low = middle
        else:
            high = middle
    return n * low


HOEFFDING = MeanTest("hoeffding", "Hoeffding's inequality in its relative-entropy form", CRITICAL_SUM, critical_sum)
