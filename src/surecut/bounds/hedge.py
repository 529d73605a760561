"""hedge: bet as if replicating a digital option that pays 1/delta (the default test).

    u  = delta K / (1 + eta)
    nu = min( phi(Phi^-1(u)) / (u sqrt(v (n - t + 1))),  c / (1 - a) ),   c = 0.95, eta = 0.1
    K *= 1 + nu (a - x_t),   reject when K >= 1/delta

The wealth K is aimed at its goal with the rounds that are left. Any bet in range that is chosen before its
loss is seen is valid, so phi(Phi^-1(u))/u comes from a table and nu is refreshed every eight losses.
"""

import math
from functools import cache
from statistics import NormalDist

import numpy as np

from surecut.arrays import Float64
from surecut.bounds.base import MeanTest
from surecut.kernels.codes import HEDGE as CODE

_POINTS = 4096
_LOG_LOWEST, _LOG_HIGHEST = math.log(1e-18), math.log(1 / 1.1)


@cache
def goal_table() -> Float64:
    """phi(Phi^-1(u))/u on an even grid of log u, after the two numbers that locate it."""
    normal = NormalDist()
    step = (_LOG_HIGHEST - _LOG_LOWEST) / (_POINTS - 1)
    shares = [math.exp(_LOG_LOWEST + i * step) for i in range(_POINTS)]
    return np.array([_LOG_LOWEST, 1 / step, *(normal.pdf(normal.inv_cdf(u)) / u for u in shares)])


HEDGE = MeanTest("hedge", "betting aimed at the goal; the strongest certified test", CODE, table=goal_table)
