"""clt: the normal approximation. Asymptotic, so what it finds is reported as not certified."""

from statistics import NormalDist

from surecut.bounds.base import MeanTest
from surecut.kernels.codes import CLT as CODE


def normal_quantile(n: int, level: float, delta: float) -> float:
    return NormalDist().inv_cdf(1 - delta)


CLT = MeanTest("clt", "normal approximation: asymptotic, not certified", CODE, normal_quantile, certified=False)
