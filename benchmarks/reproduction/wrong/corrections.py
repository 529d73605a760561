"""The paper's corrections: a risk or a confidence read off the smallest of many bounds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.reproduction.published import DELTA
from benchmarks.reproduction.rates import Rate
from surecut.arrays import Float64
from surecut.baselines import paper_grid, raised_delta
from surecut.bounds import HEDGE, WSR, MeanTest
from surecut.bounds.base import descending_levels
from surecut.curves import Curves
from surecut.kernels.testing import apply_events
from surecut.walk import Steps
from surecut.watching import Watch

SIZES = (300, 2000, 5000)
RAISED = (0.2, 0.3, 0.5)
_STEP = 0.0005  # of the levels that a bound is looked for on
_SEED = 9


@dataclass(frozen=True)
class Corrected:
    """How often the corrections claim what is false."""

    population: str
    queries: int
    test: str
    risk: Rate  # the corrected risk lies below the truth at the threshold it came from
    confidence: Mapping[float, Rate]  # the claim is false everywhere, and delta is raised to no more than this


@dataclass(frozen=True)
class Smallest:
    """The smallest bound over thresholds, where it was found, and the losses there."""

    bound: float
    threshold: float
    losses: Float64


def corrections(
    populations: Mapping[str, Curves], sizes: Sequence[int], repetitions: int, watch: Watch
) -> list[Corrected]:
    """Both corrections on samples from populations of losses, with the paper's bound and with a tight one."""
    cells = [(name, n, test) for name in populations for n in sizes for test in (WSR, HEDGE)]
    watch.stage("the corrections", len(cells) * repetitions)
    return [_cell(name, populations[name], n, test, repetitions, watch) for name, n, test in cells]


def smallest_bound(losses: Curves, test: MeanTest, delta: float) -> Smallest:
    """Over the paper's thresholds; where one beats the best so far, levels fall until one is not rejected.

    A threshold whose mean does not lie below the level to beat is passed over. A betting test might reject there
    all the same, early on; a search of those too could only end lower, and be false more often.
    """
    steps = Steps.over_grid(losses, paper_grid())
    state, levels, means = losses.start.copy(), list(descending_levels(_STEP)), _means_after(steps, losses)
    rung, applied, best = -1, 0, Smallest(1.0, float(steps.thresholds[0]), state.copy())
    for step in (0, *(1 + np.flatnonzero(np.diff(steps.bounds[1:])))):
        if rung + 1 == len(levels) or means[step] >= levels[rung + 1]:
            continue
        apply_events(state, steps.units, steps.values, applied, int(steps.bounds[step + 1]))
        applied, reached = int(steps.bounds[step + 1]), rung
        while reached + 1 < len(levels) and test.decision(state, levels[reached + 1], delta):
            reached += 1
        if reached > rung:
            rung, best = reached, Smallest(levels[reached], float(steps.thresholds[step]), state.copy())
    return best


def _cell(name: str, population: Curves, n: int, test: MeanTest, repetitions: int, watch: Watch) -> Corrected:
    rng = np.random.default_rng([_SEED, n])
    out_of_reach = _smallest_truth(population) - 1e-9  # a claim that is false by a hair, whatever the threshold
    too_low, raised = 0, []
    for _ in range(repetitions):
        sample = population.take(rng.integers(0, len(population), n))
        found = smallest_bound(sample, test, DELTA)
        too_low += bool(population.at(found.threshold).mean() > found.bound + 1e-12)
        raised.append(raised_delta(found.losses, out_of_reach, DELTA, test) or 1.0)
        watch.advance(1)
    honest = {d: Rate(int(np.sum(np.array(raised) <= d + 1e-9)), repetitions) for d in RAISED}
    return Corrected(name, n, test.name, Rate(too_low, repetitions), honest)


def _smallest_truth(population: Curves) -> float:
    return float(_means(population).min())


def _means_after(steps: Steps, losses: Curves) -> Float64:
    return _means(losses)[steps.bounds[1:]]


def _means(losses: Curves) -> Float64:
    """The mean loss as events happen one after another, from none to all."""
    changes = losses.changes[np.argsort(losses.keys, kind="stable")]
    return losses.start.mean() + np.concatenate(([0.0], np.cumsum(changes))) / len(losses)
