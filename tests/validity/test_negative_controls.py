"""Procedures that are known to break their promise; a suite that could not catch them would prove nothing."""

from dataclasses import replace

import numpy as np
from benchmarks.reproduction.wrong.printed_bound import printed_rejects

from surecut.baselines import empirical_threshold
from surecut.bounds import HEDGE
from surecut.curves import Curves
from surecut.deciding import decide
from surecut.rules import KEEP_EVERYTHING
from surecut.targets import at_least
from surecut.walk import Steps, walk
from tests.validity.design import Cell
from tests.validity.truth import DELTA, churning_population, population
from tests.validity.verdict import exceeds


def test_the_printed_wsr_formula_is_caught():
    """Its variance includes the loss that the bet is about: a bet placed after the fact."""
    rng, repetitions, n, mean = np.random.default_rng(1), 2000, 300, 0.05
    x = (rng.random((repetitions, n)) < mean).astype(np.float64)
    assert exceeds(int(printed_rejects(x, mean, DELTA).sum()), repetitions, DELTA)


def test_the_minimum_over_thresholds_is_caught():
    """The paper's risk correction: the smallest of many bounds is no bound."""
    whole, rng, repetitions = churning_population(5, at_least(0.5)), np.random.default_rng(2), 250
    thresholds = (KEEP_EVERYTHING, 1.5, 2.5, 3.5, 4.5)
    false = 0
    for _ in range(repetitions):
        losses = whole.sample(300, rng).losses
        bounds = [HEDGE.upper_bound(losses.at(t), DELTA, step=0.005) for t in thresholds]
        best = int(np.argmin(bounds))
        false += whole.truth(thresholds[best]) > bounds[best]
    assert exceeds(false, repetitions, DELTA)


def test_relaxing_afterwards_at_a_fresh_delta_is_caught():
    """Walk first, with delta split between the starts; when it fails, climb down the ladder with all of delta."""
    whole, rng, repetitions = churning_population(3, at_least(0.5)), np.random.default_rng(4), 1500
    starts = replace(whole.fitted, starts=(KEEP_EVERYTHING, 1.5, 2.5))
    afterwards = at_the_same_time = 0
    for _ in range(repetitions):
        sample = whole.sample(300, rng)
        decision = decide(whole.choices, starts, sample.losses, sample.capped)
        at_the_same_time += whole.is_false(decision)
        if decision.status == "abstained":
            afterwards += whole.truth(KEEP_EVERYTHING) > HEDGE.upper_bound(sample.losses.start, DELTA, step=0.002)
    assert not exceeds(at_the_same_time, repetitions, DELTA)
    assert exceeds(at_the_same_time + afterwards, repetitions, DELTA)


def test_starts_that_each_have_all_of_delta_are_caught():
    """Each keeps its promise by itself, and the best of the three does not."""
    whole, rng, repetitions = churning_population(3, at_least(0.5)), np.random.default_rng(3), 300
    false = 0
    for _ in range(repetitions):
        losses = whole.sample(300, rng).losses
        steps = Steps.over_breakpoints(losses)
        chains = (walk(losses, steps, whole.level, HEDGE, start, DELTA, False) for start in (KEEP_EVERYTHING, 1.5, 2.5))
        false += any(chain.threshold is not None for chain in chains)  # the target is false wherever they are
    assert exceeds(false, repetitions, DELTA)


def test_a_walk_that_mishandles_ties_is_caught():
    """Within a group of equal keys it leaves each query at its longest prefix instead of its shortest."""
    whole = population(Cell(rule="score", ties=True, system="graded", n=1000), "nDCG@10")
    rng, repetitions = np.random.default_rng(5), 200
    false = 0
    for _ in range(repetitions):
        losses = whole.sample(1000, rng).losses
        steps = longest_prefix_of_each_group(losses)
        wrong = walk(losses, steps, whole.level, HEDGE, KEEP_EVERYTHING, DELTA, start_is_true=False)
        false += wrong.threshold is not None and whole.truth(wrong.threshold) > whole.level
    assert exceeds(false, repetitions, DELTA)


def longest_prefix_of_each_group(losses: Curves) -> Steps:
    right = Steps.over_breakpoints(losses)
    values, units = right.values.copy(), right.units.copy()
    for low, high in zip(right.bounds[:-1], right.bounds[1:], strict=True):
        values[low:high], units[low:high] = values[low:high][::-1].copy(), units[low:high][::-1].copy()
    return Steps(right.thresholds, True, right.bounds, units, values)


def test_est_is_caught():
    whole, rng, repetitions = population(Cell(n=1000)), np.random.default_rng(6), 300
    false = 0
    for _ in range(repetitions):
        threshold = empirical_threshold(whole.sample(1000, rng).losses, whole.level)
        false += whole.truth(threshold) > whole.level
    assert exceeds(false, repetitions, DELTA)
