"""The bound as the paper prints it: its bet on a loss depends on that very loss."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.reproduction.published import DELTA
from benchmarks.reproduction.rates import Rate
from surecut.arrays import Bool, Float64
from surecut.bounds import HEDGE, WSR, MeanTest
from surecut.watching import Watch

SIZES = (100, 300, 1000, 5000)
MEASURED = "1 - RR@10"  # what names of losses that a system has begin with
_AT_ONCE = 500
_SEED = 8


@dataclass(frozen=True)
class FalseRejections:
    """How often each test rejects a hypothesis that is true, at delta = .1."""

    losses: str
    mean: float
    queries: int
    printed: Rate
    predictable: Rate
    hedge: Rate


def printed_rejects(x: Float64, level: float, delta: float) -> Bool:
    """One decision a row: nu_j = min(1, sqrt(2 ln(1/delta) / (n var_j))) with a variance that includes x_j."""
    n = x.shape[1]
    count = np.arange(1, n + 1)
    mean = (0.5 + np.cumsum(x, axis=1)) / (count + 1)
    variance = (0.25 + np.cumsum((x - mean) ** 2, axis=1)) / (count + 1)
    bets = np.minimum(1.0, np.sqrt(2 * math.log(1 / delta) / (n * variance)))
    wealth = np.cumsum(np.log1p(bets * (level - x)), axis=1).max(axis=1)
    rejected: Bool = wealth >= math.log(1 / delta)
    return rejected


def false_rejections(
    populations: Mapping[str, Float64], sizes: Sequence[int], repetitions: int, watch: Watch
) -> list[FalseRejections]:
    """Every finite population of losses, sampled with replacement and tested at its own mean, which is true."""
    watch.stage("the printed bound", len(populations) * len(sizes))
    found = []
    for number, (name, losses) in enumerate(populations.items()):
        for n in sizes:
            found.append(_cell(name, losses, n, repetitions, np.random.default_rng([_SEED, number, n])))
            watch.advance(1)
    return found


def _cell(name: str, losses: Float64, n: int, repetitions: int, rng: np.random.Generator) -> FalseRejections:
    mean = float(losses.mean())
    rejected = dict.fromkeys(("printed", "predictable", "hedge"), 0)
    for first in range(0, repetitions, _AT_ONCE):
        x = losses[rng.integers(0, losses.size, (min(_AT_ONCE, repetitions - first), n))]
        rejected["printed"] += int(printed_rejects(x, mean, DELTA).sum())
        rejected["predictable"] += _count(WSR, x, mean)
        rejected["hedge"] += _count(HEDGE, x, mean)
    return FalseRejections(name, mean, n, **{test: Rate(count, repetitions) for test, count in rejected.items()})


def _count(test: MeanTest, x: Float64, level: float) -> int:
    return sum(test.decision(row, level, DELTA) for row in x)


def zeros_and_ones(share: float) -> Float64:
    """Losses of 0 and 1 with this mean."""
    return (np.arange(1000) < round(1000 * share)).astype(np.float64)
