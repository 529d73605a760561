"""binomial: reject when P(Bin(n, a) <= sum x) <= delta. Exact, and only for X that is 0/1 by definition."""

from functools import lru_cache

from surecut.bounds.base import MeanTest
from surecut.kernels.codes import CRITICAL_SUM


@lru_cache(maxsize=4096)
def largest_count(n: int, level: float, probability: float) -> float:
    """The largest k with P(Bin(n, level) <= k) <= probability; -1 when there is none."""
    from scipy.special import bdtr

    low, high = -1, n
    while low < high:
        middle = (low + high + 1) // 2
        if bdtr(middle, n, level) <= probability:
            low = middle
        else:
            high = middle - 1
    return float(low)


BINOMIAL = MeanTest(
    "binomial",
    "exact, for losses that are 0 or 1 by definition",
    CRITICAL_SUM,
    largest_count,
    needs_binary=True,
)
