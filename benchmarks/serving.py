"""keep() of one query, beside a sort of its scores."""

from collections.abc import Iterator

import numpy as np

from benchmarks.result import Result
from benchmarks.systems import simulated_arrays
from benchmarks.timing import fastest, one_core
from surecut import calibrate

DEPTH = 1_000
MAX_TIMES = 6


def run() -> Iterator[Result]:
    system = simulated_arrays(1_000, DEPTH)
    certificate = calibrate(system.candidates())
    scores = system.retriever[0].copy()
    shuffled = np.random.default_rng(0).permutation(scores)
    with one_core():
        keep, shuffled_sort, sort = fastest(
            lambda: certificate.keep(scores), lambda: np.sort(shuffled), lambda: np.sort(scores), number=5_000
        )
    what = f"keep of one query of {DEPTH:,}"
    yield Result(what, keep, "numpy.sort of its scores, shuffled", shuffled_sort, "slower", MAX_TIMES)
    yield Result(what, keep, "numpy.sort of its scores as they come", sort, "informative")
