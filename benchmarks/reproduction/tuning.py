"""python -m benchmarks.reproduction.tuning [NAME ...]: find simulated systems that behave like the paper's.

For each retriever of a collection, the place of relevant documents (two parameters, shared by its two rerankers) and
the strength of documents (two parameters a reranker) are fitted to five published numbers: RR@10 of the first stage,
RR@10 with everything reranked, and the mean size that EST needs; the size that ERT needs settles only what they leave
open. Least squares with common random numbers: first on a few thousand queries, from several starts until one meets
everything within tolerance, then on the very queries that the tables are about. Prints what `systems` holds, after
half an hour or so.
"""

import argparse
import math
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from scipy.optimize import least_squares

from benchmarks.reproduction.measuring import Behaviour, behaviour, mean_measure
from benchmarks.reproduction.published import DEPTH, FIRST_STAGE, RERANKERS, Row, row
from benchmarks.reproduction.systems import SEED, FirstStage, SecondStage, pool_size, system_of
from surecut.simulation import simulate

_COARSE_QUERIES, _PLACING_QUERIES = 3000, 2000
_START_SPREADS = (2.2, 2.8, 1.6)
_START_STRENGTH = {"MARCO": 3.1, "Quora": 4.5}
_START_SHALLOW = 2.0
_SCALES = np.array([0.3, 0.1, 0.3, 0.5, 0.3, 0.5])  # of log place, log spread, and strength and shallow strength twice
_STEP = 0.1  # of finite differences, in these scales: RR@10 has steps of its own
_EVALUATIONS = {"coarse": 12, "fine": 16}
_MEASURE_TOLERANCE = 0.001
_SIZE_TOLERANCE = 0.05  # of the logarithm; counted from the ends of what rounds to the published whole number
_LOOSE_TOLERANCE = 0.5  # the same for the size of ERT, which settles what the others leave open
_ROUNDING = 0.5


@dataclass(frozen=True)
class Pair:
    """The two rows of a collection that share a retriever."""

    rows: tuple[Row, Row]

    @classmethod
    def of(cls, collection: str, retriever: str) -> "Pair":
        one, other = (row(collection, retriever, reranker) for reranker in RERANKERS)
        return cls((one, other))

    def stages(self, x: np.ndarray) -> tuple[FirstStage, list[SecondStage]]:
        """Parameters from the vector that is searched."""
        first = FirstStage(math.exp(x[0]), math.exp(x[1]))
        return first, [SecondStage(float(x[2 + 2 * i]), float(x[3 + 2 * i])) for i in range(len(self.rows))]

    def behaviours(self, x: np.ndarray, queries: int | None) -> list[Behaviour]:
        first, seconds = self.stages(x)
        return [
            behaviour(simulate(system_of(each, first, second), queries or pool_size(each), DEPTH, SEED), each.target)
            for each, second in zip(self.rows, seconds, strict=True)
        ]

    def misses(self, x: np.ndarray, queries: int | None) -> np.ndarray:
        """How far every published number is missed, in tolerances."""
        found = zip(self.rows, self.behaviours(x, queries), strict=True)
        return np.concatenate([_missed(each, seen) for each, seen in found])


def size_missed(published: float, found: float) -> float:
    """The logarithm of how far a mean size lies outside what rounds to the published one."""
    nearest = min(max(found, published - _ROUNDING), published + _ROUNDING)
    return math.log(found / nearest)


def tune(collection: str, retriever: str) -> np.ndarray:
    """The best vector found, rounded to what is kept."""
    pair = Pair.of(collection, retriever)
    best, least = _start(pair, _START_SPREADS[0]), math.inf
    for spread in _START_SPREADS:
        x = _search(pair, _start(pair, spread), _COARSE_QUERIES, _EVALUATIONS["coarse"])
        misses = np.abs(pair.misses(x, _COARSE_QUERIES))
        if misses.max() < least:
            best, least = x, misses.max()
        if least <= 1:
            break
    return _search(pair, best, None, _EVALUATIONS["fine"])


def _missed(published: Row, found: Behaviour) -> list[float]:
    return [
        (found.first_stage - published.first_stage) / _MEASURE_TOLERANCE,
        (found.reranked - published.reranked) / _MEASURE_TOLERANCE,
        size_missed(published.methods["EST"].size, found.est_size) / _SIZE_TOLERANCE,
        size_missed(published.methods["ERT"].size, found.ert_size) / _LOOSE_TOLERANCE,
    ]


def _search(pair: Pair, start: np.ndarray, queries: int | None, evaluations: int) -> np.ndarray:
    """Least squares around a start; the searched vector is 1 there, so that steps are the same for every parameter."""

    def misses(p: np.ndarray) -> np.ndarray:
        return pair.misses(start + (p - 1) * _SCALES, queries)

    found = least_squares(misses, np.ones(start.size), diff_step=_STEP, max_nfev=evaluations)
    return start + (found.x - 1) * _SCALES


def _start(pair: Pair, spread: float) -> np.ndarray:
    one = pair.rows[0]
    second = SecondStage(_START_STRENGTH[one.collection], _START_SHALLOW)
    low, high = math.log(0.05), math.log(200.0)  # of the median place: the first stage is worse the larger it is
    while high - low > 0.05:
        middle = (low + high) / 2
        system = system_of(one, FirstStage(math.exp(middle), spread), second)
        better = mean_measure(simulate(system, _PLACING_QUERIES, DEPTH, SEED), 1.0) > one.first_stage
        low, high = (middle, high) if better else (low, middle)
    return np.array([low, math.log(spread), *(second.strength, second.shallow_strength) * 2])


def _tuned(names: tuple[str, str]) -> tuple[np.ndarray, list[Behaviour]]:
    x = tune(*names)
    return x, Pair.of(*names).behaviours(x, None)


def _report(console: Console, pair: Pair, x: np.ndarray, found: Sequence[Behaviour]) -> None:
    first, seconds = pair.stages(x)
    one = pair.rows[0]
    console.print(f'    ("{one.collection}", "{one.retriever}"): {_rounded(first)},')
    for each, second, seen in zip(pair.rows, seconds, found, strict=True):
        console.print(f'    ("{each.collection}", "{each.retriever}", "{each.reranker}"): {_rounded(second)},')
        console.print(
            f"    # first stage {seen.first_stage:.4f} ({each.first_stage:.3f}), reranked {seen.reranked:.4f} "
            f"({each.reranked:.3f}), EST {seen.est_size:.1f} ({each.methods['EST'].size:g}), ERT {seen.ert_size:.0f}, "
            f"recall {seen.recall:.3f}"
        )


def _rounded(stage: FirstStage | SecondStage) -> str:
    inside = ", ".join(f"{value:.4f}" for value in vars(stage).values())
    return f"{type(stage).__name__}({inside})"


def main() -> None:
    first_stages = {f"{names[0]}-{names[1]}": names for names in FIRST_STAGE}
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reproduction.tuning")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"first stages (all): {', '.join(first_stages)}")
    wanted = parser.parse_args().names or list(first_stages)
    if unknown := set(wanted) - set(first_stages):
        parser.error(f"no first stage '{min(unknown)}': choose from {', '.join(first_stages)}")
    console = Console(highlight=False, soft_wrap=True)
    chosen = [first_stages[name] for name in wanted]
    with ProcessPoolExecutor() as executor:
        for each, (x, found) in zip(chosen, executor.map(_tuned, chosen), strict=True):
            _report(console, Pair.of(*each), x, found)


if __name__ == "__main__":
    main()
