"""Score calibration: the paper's "Platt scaling", one softmax temperature for all queries."""

import math
from collections.abc import Callable

import numpy as np

from surecut.candidates import Candidates
from surecut.errors import InputError
from surecut.kernels.keys import softmax_slope
from surecut.lists import by_id

LOWEST, HIGHEST = 1e-4, 1e6
_NARROW = 0.5  # of log T: near enough to its root the slope is almost a line
_CLOSE = 1e-13


def fit_temperature(data: Candidates, rel: int = 1) -> float:
    """T that minimises the mean of -log softmax(s/T) at each query's first relevant candidate.

    The objective is convex in 1/T, so its slope has one root. Queries are added up in the order of their ids, so that
    no bit of it depends on the order they come in.
    """
    relevant = np.flatnonzero(data.grades >= rel)
    found = np.searchsorted(relevant, data.offsets)
    order = by_id(data)
    queries = order[np.diff(found)[order] > 0]
    if not queries.size:
        raise InputError("no query has a relevant candidate to fit the temperature on: use rule 'softmax'")
    targets = relevant[found[queries]]

    def slope(log_temperature: float) -> float:
        return float(softmax_slope(data.retriever, data.offsets, queries, targets, math.exp(-log_temperature)))

    low, high = math.log(LOWEST), math.log(HIGHEST)
    if slope(low) <= 0 or slope(high) >= 0:
        raise InputError(
            f"the temperature has no optimum between {LOWEST:g} and {HIGHEST:g}: the retriever's scores do not "
            "separate relevant documents, or separate them perfectly; use rule 'softmax', which fits nothing"
        )
    return math.exp(_root(slope, low, high))


def _root(falling: Callable[[float], float], low: float, high: float) -> float:
    """Where a falling function is 0: bisection, then the Illinois form of false position."""
    while high - low > _NARROW:
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    above, below = falling(low), falling(high)
    moved = None
    while high - low > _CLOSE and above > below:
        middle = min(max(low + (high - low) * above / (above - below), low), high)
        value = falling(middle)
        if abs(value) <= _CLOSE or middle in (low, high):
            return middle
        if value > 0:
            low, above, below = middle, value, below / 2 if moved == "low" else below
            moved = "low"
        else:
            high, below, above = middle, value, above / 2 if moved == "high" else above
            moved = "high"
    return (low + high) / 2
