"""The fixed-sequence walk against a loop that starts every test afresh, and the thresholds it reports."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surecut import at_least, max_drop
from surecut.bounds import TESTS
from surecut.curves import Curves, measure_curves
from surecut.measures import as_measure
from surecut.rules import as_rule
from surecut.walk import SHARES, Chain, Steps, chains, farthest, midpoint, walk
from tests.strategies import as_candidates, tied_queries


def slow_walk(losses, level, test, start, delta, start_is_true):
    """Test every breakpoint from scratch, stop at the first that is not rejected; the interval that is left.

    Returns (last key removed, first key that could not be), or None when the start itself failed. Removals
    before the first breakpoint leave the losses of the full list, and are tested with them.
    """
    if (start == -math.inf or not start_is_true) and not test.decision(losses.at(start), level, delta):
        return (start, -math.inf) if start_is_true else None
    removed = start
    for key in np.unique(losses.keys[losses.keys >= start]):
        if not test.decision(losses.at(np.nextafter(key, np.inf)), level, delta):
            return removed, float(key)
        removed = float(key)
    return removed, math.inf


def random_losses(seed, units, binary=False, tied=True):
    """Losses that start below 1/2 and rise, with many events sharing a key or each with its own."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 5, units)
    offsets = np.concatenate(([0], np.cumsum(counts)))
    keys = np.concatenate([np.sort(rng.random(count) * 25) for count in counts])
    keys = np.floor(keys) if tied else keys
    values = np.clip(rng.random(keys.size) * 0.6 + 0.4 * keys / 25, 0, 1)
    start = rng.random(units) * 0.6
    if binary:
        start, values = (start > 0.4).astype(float), (values > 0.55).astype(float)
    return Curves(start.copy(), start, offsets, keys, values)


@pytest.mark.parametrize("name", TESTS.names())
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    units=st.sampled_from((1, 9, 40, 70, 150)),
    level=st.sampled_from((0.35, 0.45, 0.55)),
    start=st.sampled_from((-np.inf, 0.0, 6.0, 6.5, 24.0, 30.0)),
    start_is_true=st.booleans(),
    tied=st.booleans(),
)
def test_the_resumed_walk_equals_a_fresh_test_at_every_step(name, seed, units, level, start, start_is_true, tied):
    losses = random_losses(seed, units, binary=name == "binomial", tied=tied)
    test = TESTS[name]
    start_is_true = start_is_true and start == -math.inf
    found = walk(losses, Steps.over_breakpoints(losses), level, test, start, 0.1, start_is_true)
    expected = slow_walk(losses, level, test, start, 0.1, start_is_true)
    if expected is None:
        assert found.threshold is None
        return
    removed, failed = expected
    if np.isinf(failed):
        assert found.threshold == failed
    else:
        assert found.threshold == midpoint(removed, failed)
        assert removed < found.threshold <= failed or removed == found.threshold == failed == start


@pytest.mark.parametrize("name", ["hedge", "wsr"])
@pytest.mark.parametrize("units", [40, 100])
def test_a_change_at_the_very_loss_that_decided_is_seen(name, units):
    """Losses of 0 until the test rejects and of 1 from there on; then that last 0 becomes a 1."""
    test = TESTS[name]

    def zeros_then_ones(zeros):
        return np.concatenate((np.zeros(zeros), np.ones(units - zeros)))

    needed = next(zeros for zeros in range(units) if test.decision(zeros_then_ones(zeros), 0.5, 0.1))
    for changed in range(units):
        start = zeros_then_ones(needed)
        offsets = (np.arange(units + 1) > changed).astype(np.int64)
        losses = Curves(start, start, offsets, np.array([1.0]), np.array([1.0 - start[changed]]))
        found = walk(losses, Steps.over_breakpoints(losses), 0.5, test, -np.inf, 0.1, False)
        assert found.threshold == (1.0 if changed < needed else np.inf)


@pytest.mark.parametrize("target", [max_drop(0.3), at_least(0.25)], ids=["drop", "at least"])
@pytest.mark.parametrize("rule", ["softmax", "score", "rank"])
@pytest.mark.parametrize("name", ["hedge", "wsr", "hoeffding-bentkus"])
def test_the_walk_over_tied_lists_equals_a_fresh_test_at_every_step(name, rule, target):
    data = as_candidates(tied_queries(8, count=300, longest=12))
    curves = measure_curves(data, as_rule(rule).keys(data), data.reranker, as_measure("nDCG@10"))
    losses = target.losses(curves)
    found = walk(losses, Steps.over_breakpoints(losses), target.level, TESTS[name], -np.inf, 0.1, target.met_unpruned)
    expected = slow_walk(losses, target.level, TESTS[name], -np.inf, 0.1, target.met_unpruned)
    assert expected is not None
    removed, failed = expected
    np.testing.assert_array_equal(losses.at(found.threshold), losses.at(np.nextafter(removed, np.inf)))
    assert removed < found.threshold <= failed


def curves_with(events, start, units=60):
    """Every unit has the same start and the same (key, value) events."""
    keys, values = zip(*events, strict=True) if events else ((), ())
    return Curves(
        np.full(units, start),
        np.full(units, start),
        np.arange(units + 1) * len(events),
        np.tile(np.array(keys, dtype=float), units),
        np.tile(np.array(values, dtype=float), units),
    )


def threshold_of(losses, start=-np.inf, start_is_true=True):
    return walk(losses, Steps.over_breakpoints(losses), 0.5, TESTS["hedge"], start, 0.1, start_is_true).threshold


def test_exact_thresholds():
    assert threshold_of(curves_with([(1.0, 0.1), (3.0, 0.9)], 0.0)) == 2.0  # the middle of passed and failed
    assert threshold_of(curves_with([(1.0, 0.1), (3.0, 0.2)], 0.0)) == np.inf  # all passed
    assert threshold_of(curves_with([(1.0, 0.9), (3.0, 0.1)], 0.0)) == 1.0  # only what changes no loss is pruned
    assert threshold_of(curves_with([(1.0, 0.1), (3.0, 0.1)], 0.9)) == -np.inf  # not even that
    assert threshold_of(curves_with([(1.0, 0.1)], 0.9), start_is_true=False) is None
    assert threshold_of(curves_with([(1.0, 0.9)], 0.1), start_is_true=False) == 1.0


def test_a_threshold_without_room_for_a_middle_is_the_upper_key():
    above = np.nextafter(1.0, 2.0)
    assert threshold_of(curves_with([(1.0, 0.1), (above, 0.9)], 0.0)) == above
    assert midpoint(1.0, above) == above
    assert midpoint(-np.inf, 4.0) == 4.0


def test_losses_that_never_change_are_tested_once_and_certify_the_smallest_set():
    losses = curves_with([], 0.1)
    grid = np.array([-np.inf, 0.0, 1.0])
    fixed = walk(losses, Steps.over_grid(losses, grid), 0.5, TESTS["hedge"], -np.inf, 0.1, True)
    assert fixed.threshold == 1.0
    assert threshold_of(losses) == np.inf


def test_removals_before_the_first_change_point_are_hypotheses_too():
    """They leave the losses as they were, which a grid point there tests: so must the exact walk."""
    losses = curves_with([(1.0, 0.0)], 0.5)
    grid = np.array([-np.inf, 0.0, 2.0])
    fixed = walk(losses, Steps.over_grid(losses, grid), 0.5, TESTS["hedge"], -np.inf, 0.1, True)
    assert fixed.threshold == -np.inf
    assert threshold_of(losses) == -np.inf


def test_a_start_inside_skips_what_lies_before_it():
    losses = curves_with([(1.0, 0.9), (3.0, 0.1), (5.0, 0.9)], 0.9)
    assert threshold_of(losses, 2.0, start_is_true=False) is None
    assert threshold_of(losses, 3.0, start_is_true=False) is None  # key 3 survives a threshold of 3
    assert threshold_of(losses, 3.5, start_is_true=False) == 4.25
    assert threshold_of(losses, 5.0, start_is_true=False) == 5.0
    assert threshold_of(losses, 6.0, start_is_true=False) is None


def test_tied_keys_end_at_the_shortest_prefix():
    """Two events of one query at one key are one step, and only the last of them is ever a state."""
    losses = curves_with([(1.0, 1.0), (1.0, 0.1), (2.0, 1.0)], 0.0)
    steps = Steps.over_breakpoints(losses)
    np.testing.assert_array_equal(steps.thresholds, [-np.inf, 1.0, 2.0])
    assert threshold_of(losses) == 1.5


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), level=st.sampled_from((0.4, 0.5)))
def test_a_grid_point_above_every_breakpoint_gives_the_exact_walk(seed, level):
    losses = random_losses(seed, 80)
    grid = np.concatenate(([-np.inf], np.nextafter(np.unique(losses.keys), np.inf)))
    fixed = walk(losses, Steps.over_grid(losses, grid), level, TESTS["hedge"], -np.inf, 0.1, False)
    exact = walk(losses, Steps.over_breakpoints(losses), level, TESTS["hedge"], -np.inf, 0.1, False)
    assert (fixed.threshold is None) == (exact.threshold is None)
    if fixed.threshold is not None:
        assert fixed.threshold in grid
        np.testing.assert_array_equal(losses.at(fixed.threshold), losses.at(exact.threshold))


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), start=st.sampled_from((-np.inf, 3.0, 7.5, 20.0)), start_is_true=st.booleans())
def test_a_coarse_grid_is_walked_point_by_point(seed, start, start_is_true):
    losses = random_losses(seed, 80)
    grid = np.array([-np.inf, 2.0, 3.0, 7.6, 11.2, 19.0, 22.0, 30.0])
    start_is_true = start_is_true and start == -np.inf
    found = walk(losses, Steps.over_grid(losses, grid), 0.45, TESTS["hedge"], start, 0.1, start_is_true)
    reached = None
    for number, point in enumerate(grid[grid >= start]):
        known = start_is_true and number == 0
        if not known and not TESTS["hedge"].decision(losses.at(point), 0.45, 0.1):
            break
        reached = point
    assert found.threshold == reached


@pytest.mark.parametrize("starts", [(-np.inf,), (-np.inf, -3.0), (-np.inf, -3.0, -1.0)])
def test_starts_share_delta(starts):
    shared = chains(starts, 0.1)
    assert [start for start, _ in shared] == list(starts)
    assert sum(delta for _, delta in shared) == pytest.approx(0.1)
    assert sum(SHARES[len(starts)]) == pytest.approx(1.0)


def test_the_farthest_chain_wins_and_failed_starts_do_not_count():
    walked = [Chain(-np.inf, 0.03, None), Chain(-3.0, 0.03, -2.0), Chain(-1.0, 0.03, -0.5)]
    assert farthest(walked) == -0.5
    assert farthest(walked[:1]) is None
