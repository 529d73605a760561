"""wsr: the betting test of Waudby-Smith and Ramdas, as the paper uses it.

    nu_j = min(1, sqrt(2 ln(1/delta) / (n var_{j-1}))),   K_j = prod (1 + nu_i (a - x_i))

with the variance *before* x_j. The formula printed in the paper uses the one that includes x_j, which is a
bet placed after the loss is seen, and miscovers.
"""

import math

import numpy as np

from surecut.arrays import Float64
from surecut.bounds.base import MeanTest
from surecut.kernels.codes import WSR as CODE

WSR = MeanTest("wsr", "the paper's betting test", CODE)


def wsr_bets(x: Float64, delta: float) -> Float64:
    """nu_j for each loss, from the losses before it."""
    count = np.arange(1, x.size + 1)
    mean = (0.5 + np.cumsum(x)) / (count + 1)
    variance = (0.25 + np.cumsum((x - mean) ** 2)) / (count + 1)
    before = np.concatenate(([0.25], variance[:-1]))
    bets: Float64 = np.minimum(1.0, np.sqrt(2 * math.log(1 / delta) / (x.size * before)))
    return bets


def evidence_factor(x: Float64, level: float) -> float:
    """Mean terminal wealth of WSR bets tuned at .3, .1 and .01: evidence against E[X] >= level.

    Were the claim E[X] <= level false, a factor of at least t would have a probability of at most 1/t.
    """
    logs = [float(np.sum(np.log1p(wsr_bets(x, delta) * (level - x)))) for delta in (0.3, 0.1, 0.01)]
    return float(np.mean(np.exp(np.minimum(logs, 700.0))))
