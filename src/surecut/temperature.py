"""Score calibration: the paper's "Platt scaling", one softmax temperature for all queries."""

import math

import numpy as np

from surecut.candidates import Candidates
from surecut.errors import InputError
from surecut.kernels.keys import softmax_slope

LOWEST, HIGHEST = 1e-4, 1e6


def fit_temperature(data: Candidates, rel: int = 1) -> float:
    """T that minimises the mean of -log softmax(s/T) at each query's first relevant candidate.

    The objective is convex in 1/T, so the root of its slope is found by bisection (in log T).
    """
    rows = np.flatnonzero(data.grades >= rel)
    owner = np.searchsorted(data.offsets, rows, side="right") - 1
    owners, first = np.unique(owner, return_index=True)
    if owners.size == 0:
        raise InputError("no query has a relevant candidate to fit the temperature on: use rule 'softmax'")
    some = data.take(owners)
    targets = rows[first] - data.offsets[owners] + some.offsets[:-1]

    def slope(temperature: float) -> float:
        return float(softmax_slope(some.retriever, some.offsets, targets, 1 / temperature))

    low, high = math.log(LOWEST), math.log(HIGHEST)
    if slope(LOWEST) <= 0 or slope(HIGHEST) >= 0:
        raise InputError(
            f"the temperature has no optimum between {LOWEST:g} and {HIGHEST:g}: the retriever's scores do not "
            "separate relevant documents, or separate them perfectly; use rule 'softmax', which fits nothing"
        )
    for _ in range(60):
        middle = (low + high) / 2
        if slope(math.exp(middle)) > 0:  # too sharp
            low = middle
        else:
            high = middle
    return math.exp((low + high) / 2)
