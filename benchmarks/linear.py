"""Ten times the queries, about ten times the time."""

from collections.abc import Iterator

from benchmarks.result import Result
from benchmarks.systems import simulated_arrays
from benchmarks.timing import fastest
from surecut import calibrate

FEW, MANY, DEPTH = 10_000, 100_000, 100
MAX_TIMES = 12


def run() -> Iterator[Result]:
    few, many = simulated_arrays(FEW, DEPTH), simulated_arrays(MANY, DEPTH)
    for grid, kind in (("auto", "slower"), ("fixed", "informative")):
        small, large = fastest(
            lambda grid=grid: calibrate(few.candidates(), grid=grid),
            lambda grid=grid: calibrate(many.candidates(), grid=grid),
        )
        what = f"calibrate on arrays, {MANY:,} x {DEPTH}, grid {grid}"
        yield Result(what, large, f"{FEW:,} x {DEPTH}", small, kind, MAX_TIMES)
