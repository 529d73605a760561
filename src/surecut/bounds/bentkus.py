"""bentkus: p = e P(Bin(n, a) <= ceil(n r)) with r the mean."""

import math

from surecut.bounds.base import MeanTest
from surecut.bounds.binomial import largest_count
from surecut.kernels.codes import CRITICAL_SUM


def critical_sum(n: int, level: float, delta: float) -> float:
    """ceil(sum) is at most a whole number exactly when the sum is."""
    return largest_count(n, level, delta / math.e)


BENTKUS = MeanTest("bentkus", "Bentkus' inequality", CRITICAL_SUM, critical_sum)
