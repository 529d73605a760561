"""hoeffding-bentkus: the smaller of the two p-values; both bound the same tail, so nothing is paid for it."""

from surecut.bounds import bentkus, hoeffding
from surecut.bounds.base import MeanTest
from surecut.kernels.codes import CRITICAL_SUM


def critical_sum(n: int, level: float, delta: float) -> float:
    return max(hoeffding.critical_sum(n, level, delta), bentkus.critical_sum(n, level, delta))


HOEFFDING_BENTKUS = MeanTest("hoeffding-bentkus", "the better of the two inequalities", CRITICAL_SUM, critical_sum)
