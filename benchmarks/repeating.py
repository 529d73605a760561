"""Trials: the paper's experiment, against calibrating each of its samples anew."""

import time
from collections.abc import Iterator

from benchmarks.result import Result
from surecut import Candidates, at_least, calibrate, run_trials, simulate
from surecut.trials.drawing import redraw, split
from surecut.trials.methods import METHODS
from surecut.trials.pool import Pool

QUERIES, DEPTH = 12_000, 1_000
TRIALS, CALIBRATION, TEST = 100, 5_000, 6_980
TARGET = at_least(0.38)
TRIALS_TIMED = 2
MIN_TIMES_FASTER = 5


def run() -> Iterator[Result]:
    data = simulate("dense-electra", QUERIES, DEPTH)
    run_trials(data, trials=1, calibration=CALIBRATION, test=TEST, target=TARGET)  # warm
    begun = time.perf_counter()
    run_trials(data, trials=TRIALS, calibration=CALIBRATION, test=TEST, target=TARGET)
    seconds = time.perf_counter() - begun
    yield Result(
        f"{TRIALS} trials x {len(METHODS.names())} methods, {QUERIES:,} x {DEPTH:,}, RR@10 at least {TARGET.value}",
        seconds,
        f"calibrate and check on every sample ({TRIALS_TIMED} of {TRIALS} trials, scaled)",
        _anew(data) * TRIALS / TRIALS_TIMED,
        "faster",
        MIN_TIMES_FASTER,
    )


def _anew(data: Candidates) -> float:
    """Seconds for some trials, by what anyone would do without `trials`."""
    pool = Pool.of(data, "simulated", judged=True)
    begun = time.perf_counter()
    for trial in range(TRIALS_TIMED):
        drawn, left = split(pool, CALIBRATION, 0, trial)
        again = redraw(pool, CALIBRATION, 0, trial)
        for method in METHODS:
            for units, other in ((drawn.units, data.take(left[:TEST])), (again.units, data)):
                sample = data.take(units)
                ids = [f"draw-{number}" for number in range(CALIBRATION)]
                sample = Candidates.from_arrays(
                    sample.retriever, sample.reranker, sample.grades, offsets=sample.offsets, query_ids=ids
                )
                calibrate(sample, target=TARGET, **method.options).check(other)
    return time.perf_counter() - begun
