"""Calibrating on arrays, one thread, beside one sort of the same scores."""

from collections.abc import Iterator

import numpy as np

from benchmarks.result import Result
from benchmarks.systems import simulated_arrays
from benchmarks.timing import fastest, one_core
from surecut import calibrate, max_drop

QUERIES, DEPTH = 5_000, 1_000
LIMITS = {"RR@10": 5, "nDCG@10": 8, "R@100": 8, "Success@10": 8, "P@10": 8, "AP@100": 8}


def run() -> Iterator[Result]:
    system = simulated_arrays(QUERIES, DEPTH)
    scores = system.shuffled_scores()
    for measure, limit in LIMITS.items():

        def calibrated(measure: str = measure) -> None:
            calibrate(system.candidates(), measure=measure, target=max_drop(0.01), test="hedge", grid="exact")

        with one_core():
            seconds, sort = fastest(calibrated, lambda: np.sort(scores))
        what = f"calibrate on arrays, {QUERIES:,} x {DEPTH:,}, {measure}"
        yield Result(what, seconds, "numpy.sort of the scores, shuffled", sort, "slower", limit)
