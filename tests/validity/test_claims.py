"""Claims about fixed cuts, bounds, intervals, groups and max_keep keep their promise too."""

import numpy as np
import pytest

from surecut.bounds import HEDGE, TESTS
from surecut.claims import interval, strongest_claim
from surecut.placement import thresholds_for_means
from surecut.targets import CLAIMS
from surecut.walk import KEEP_EVERYTHING, Steps, walk
from tests.validity.design import Cell
from tests.validity.truth import DELTA, Population, population, system
from tests.validity.verdict import exceeds


def measured_at(whole: Population, threshold: float) -> tuple[np.ndarray, np.ndarray]:
    return whole.prepared.curves.at(threshold), whole.prepared.curves.full


@pytest.mark.parametrize("claim", ["max-drop", "max-drop-abs", "at-least"])
def test_a_fixed_cut_costs_no_more_than_claimed(claim):
    whole, rng, repetitions = population(Cell(target="max_drop", ties=True)), np.random.default_rng(1), 300
    measured, full = measured_at(whole, -20.0)
    target = CLAIMS[claim]
    truth = target.estimate(measured, full)
    false = 0
    for _ in range(repetitions):
        drawn = rng.integers(0, full.size, 300)
        value = strongest_claim(target, measured[drawn], full[drawn], HEDGE, DELTA)
        false += value is not None and (truth < value if target.rising else truth > value)
    assert not exceeds(false, repetitions, DELTA)


def test_a_budget_placed_on_other_queries_costs_no_more_than_claimed():
    whole, rng, repetitions = (
        population(Cell(rule="softmax", target="max_drop", ties=True)),
        np.random.default_rng(2),
        200,
    )
    data, rule = system("dense-electra", True), whole.prepared.rule
    target, false = CLAIMS["max-drop"], 0
    for _ in range(repetitions):
        others = rng.integers(0, len(data), 60)
        threshold = thresholds_for_means(data.take(others), rule, [20.0])[0]
        measured, full = measured_at(whole, threshold)
        drawn = rng.integers(0, full.size, 300)
        value = strongest_claim(target, measured[drawn], full[drawn], HEDGE, DELTA)
        false += value is not None and target.estimate(measured, full) > value
    assert not exceeds(false, repetitions, DELTA)


@pytest.mark.parametrize("name", ["hedge", "wsr", "hoeffding", "bentkus", "hoeffding-bentkus"])
def test_upper_bounds_cover(name):
    rng, repetitions, mean = np.random.default_rng(3), 400, 0.3
    false = sum(TESTS[name].upper_bound(rng.beta(0.6, 1.4, 200), DELTA, step=0.01) < mean for _ in range(repetitions))
    assert not exceeds(false, repetitions, DELTA)


@pytest.mark.parametrize("kind", ["max_drop", "at_least", "agreement"])
def test_a_true_claim_is_rarely_contradicted_and_intervals_cover_on_both_sides(kind):
    whole, rng, repetitions, side = (
        population(Cell(rule="softmax", target=kind, ties=True)),
        np.random.default_rng(4),
        150,
        0.05,
    )
    target = whole.choices.target
    measured, full = measured_at(whole, -8.0)
    truth = target.estimate(measured, full)
    above = below = 0
    for _ in range(repetitions):
        drawn = rng.integers(0, full.size, 200)
        low, high = interval(target, measured[drawn], full[drawn], HEDGE, side)
        above, below = above + (low > truth), below + (high < truth)
    assert not exceeds(above, repetitions, side)
    assert not exceeds(below, repetitions, side)


def test_groups_of_near_duplicates_count_once():
    """Queries come in clusters of eight that share their fate; as units the claim holds, as queries it does not."""
    whole, rng, repetitions, clusters = (
        population(Cell(ties=True)),
        np.random.default_rng(5),
        400,
        60,
    )
    level, false, naive = whole.level, 0, 0
    for _ in range(repetitions):
        drawn = rng.integers(0, len(whole.prepared.losses), clusters)
        copies = whole.prepared.losses.take(np.repeat(drawn, 8))
        grouped = copies.merged(np.repeat(np.arange(clusters), 8))
        false += _false(whole, grouped, level)
        naive += _false(whole, copies, level)
    assert not exceeds(false, repetitions, DELTA)
    assert exceeds(naive, repetitions, DELTA)


def _false(whole: Population, losses, level: float) -> bool:
    found = walk(losses, Steps.over_breakpoints(losses), level, HEDGE, KEEP_EVERYTHING, DELTA, False)
    return found.threshold is not None and whole.truth(found.threshold) > level
