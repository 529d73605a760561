"""EST, ERT and the published procedure against literal, slow readings of their definitions."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surecut import at_least, max_drop
from surecut.baselines import empirical_threshold, paper_grid, published_procedure
from surecut.curves import Curves, measure_curves
from surecut.measures import as_measure
from surecut.rules import as_rule
from tests.strategies import as_candidates, tied_queries

TARGETS = (max_drop(0.02), max_drop(0.2), max_drop(0.05, absolute=True), at_least(0.3), at_least(0.5))


def losses_of(seed, rule, target, count=40):
    data = as_candidates(tied_queries(seed, count=count))
    keys = as_rule(rule).keys(data)
    return keys, target.losses(measure_curves(data, keys, data.reranker, as_measure("nDCG@10")))


def meets(losses, threshold, level):
    return losses.at(threshold).mean() <= level + 1e-12


@settings(max_examples=50, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    rule=st.sampled_from(("softmax", "score", "zscore", "rank")),
    target=st.sampled_from(TARGETS),
)
def test_est_is_the_last_threshold_whose_mean_meets_the_target(seed, rule, target):
    """With the rank rule this is ERT."""
    keys, losses = losses_of(seed, rule, target)
    found = empirical_threshold(losses, target.level)
    beyond = [threshold for threshold in (*np.unique(keys), math.inf) if threshold > found]
    if found > -math.inf:
        assert meets(losses, found, target.level)
    for threshold in beyond:
        same_state = np.array_equal(losses.at(threshold), losses.at(found))
        assert same_state or not meets(losses, threshold, target.level)


def test_est_looks_past_sets_that_miss_the_target():
    """Not a walk: a smaller set that meets the target is found behind larger ones that do not."""
    losses = Curves(
        np.array([0.0]), np.array([0.0]), np.array([0, 3]), np.array([1.0, 2.0, 4.0]), np.array([0.9, 0.1, 0.9])
    )
    assert empirical_threshold(losses, 0.5) == 3.0
    assert empirical_threshold(losses, 0.95) == math.inf
    assert empirical_threshold(losses, 0.05) == 1.0  # what lies below the first change may go


def test_est_prunes_what_changes_no_loss():
    start = np.array([0.1])
    never = Curves(start, start, np.array([0, 0]), np.empty(0), np.empty(0))
    assert empirical_threshold(never, 0.5) == math.inf
    once = Curves(start, start, np.array([0, 1]), np.array([1.0]), np.array([0.9]))
    assert empirical_threshold(once, 0.5) == 1.0


def test_ert_is_the_smallest_rank_whose_mean_meets_the_target():
    target = max_drop(0.05)
    data = as_candidates(tied_queries(77, count=200, shortest=10))
    curves = measure_curves(data, as_rule("rank").keys(data), data.reranker, as_measure("RR@10"))
    ranks = [rank for rank in range(1, 11) if curves.at(-rank).mean() >= 0.95 * curves.full.mean() - 1e-12]
    found = empirical_threshold(target.losses(curves), target.level)
    assert 1 < ranks[0] < 10
    assert math.ceil(found) == -ranks[0]


def wsr_wealth(losses, level, delta):
    """K_t of the published test at every t, one loss after the other."""
    n, wealth, path = losses.size, 1.0, []
    s1, s2, variance = 0.5, 0.25, 0.25
    for t, loss in enumerate(losses, start=1):
        wealth *= 1 + min(1.0, math.sqrt(2 * math.log(1 / delta) / (n * variance))) * (level - loss)
        path.append(wealth)
        s1 += loss
        s2 += (loss - s1 / (t + 1)) ** 2
        variance = s2 / (t + 1)
    return path


def wsr_bound(losses, delta):
    """The smallest level whose wealth reaches 1/delta, to 1e-7; 1 if there is none below."""
    low, high = 0.0, 1.0
    while high - low > 1e-7:
        middle = (low + high) / 2
        if max(wsr_wealth(losses, middle, delta)) >= 1 / delta:
            high = middle
        else:
            low = middle
    return high


def softmax_losses(seed, value, count=80):
    return losses_of(seed, "softmax-fitted(temperature=1.5)", at_least(value), count)[1]


def bounds_over_grid(losses, delta):
    """(threshold, losses, bound) wherever the losses change along the published grid."""
    grid, states, last = paper_grid(), [], None
    above = np.unique(np.searchsorted(grid, losses.keys, side="right"))  # nothing changes at other points
    for threshold in (grid[0], *grid[above[above < grid.size]]):
        state = losses.at(threshold)
        if last is None or not np.array_equal(state, last):
            states.append([float(threshold), state, wsr_bound(state, delta)])
            last = state
    return states


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("value", [0.2, 0.35, 0.6])
def test_lambda_hat_is_the_last_threshold_before_the_bound_first_exceeds_the_target(seed, value):
    losses = softmax_losses(seed, value)
    found = published_procedure(losses, 1 - value, 0.1)
    states = bounds_over_grid(losses, 0.1)
    too_high = [number for number, (_, _, bound) in enumerate(states) if bound > 1 - value]
    if not too_high:
        assert found.threshold == paper_grid()[-1]
    elif too_high[0] == 0:
        assert found.threshold == -math.inf
        assert not found.reached
    else:
        grid = paper_grid()
        expected = grid[np.flatnonzero(grid == states[too_high[0]][0])[0] - 1]
        assert found.reached
        assert found.threshold == expected


def test_its_corrections_are_the_smallest_bound_and_the_smallest_delta_that_fits():
    value = 0.6
    losses = softmax_losses(3, value)
    found = published_procedure(losses, 1 - value, 0.1)
    assert not found.reached
    states = bounds_over_grid(losses, 0.1)
    smallest = min(bound for _, _, bound in states)
    assert found.corrected_level == pytest.approx(smallest, abs=2e-6)
    if found.corrected_delta is not None:
        at = next(state for _, state, bound in states if bound <= smallest + 2e-6)
        delta = found.corrected_delta
        assert max(wsr_wealth(at, 1 - value, delta)) >= 1 / delta
        assert max(wsr_wealth(at, 1 - value, delta - 0.01)) < 1 / (delta - 0.01)


def test_a_target_just_out_of_reach_is_met_with_a_raised_delta():
    losses = softmax_losses(3, 0.5)
    smallest = min(bound for _, _, bound in bounds_over_grid(losses, 0.1))
    found = published_procedure(losses, smallest - 0.01, 0.1)
    assert not found.reached
    assert found.corrected_delta is not None
    assert 0.1 < found.corrected_delta < 0.5


def test_the_published_grid_is_ten_thousand_even_steps_of_probability():
    grid = paper_grid()
    assert grid.size == 10_000
    assert grid[0] == -math.inf
    np.testing.assert_allclose(np.diff(np.exp(grid)), 1e-4, rtol=1e-6)
