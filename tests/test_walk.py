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
from surecut.rules import DELTA_SHARES, as_rule
from surecut.walk import Steps, fallback, midpoint, walk
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


def slow_fallback(losses, points, level, test, starts, delta):
    """Every point in order, tested from scratch at what its stretch has; the last one of all that were rejected."""
    shares, carried, reached = DELTA_SHARES[len(starts)], 0.0, None
    for place, (start, end) in enumerate(zip(starts, [*starts[1:], math.inf], strict=True)):
        possible = [delta * sum(shares[oldest : place + 1]) for oldest in range(place + 1)]
        in_use = [each for each in possible if each > carried + delta * shares[place] - 1e-12]
        for point in (each for each in points if start <= each <= end):
            if not all(test.decision(losses.at(point), level, each) for each in in_use):
                carried = 0.0
                break
            reached = point if reached is None else max(reached, point)
        else:
            carried += delta * shares[place]
    return reached


@pytest.mark.parametrize("name", TESTS.names())
@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    level=st.sampled_from((0.3, 0.35, 0.4, 0.45, 0.55)),
    starts=st.sampled_from(((-np.inf,), (-np.inf, 3.0, 11.0), (-np.inf, 3.0, 3.0), (-np.inf, 24.0, 40.0))),
    hump=st.booleans(),
)
def test_fallback_equals_a_fresh_test_at_every_point(name, seed, level, starts, hump):
    losses = random_losses(seed, 80, binary=name == "binomial")
    if hump:  # a full list that fails, so that a chain from further on has to make do with its own share
        losses = Curves(losses.full, np.maximum(losses.start, 0.9).round(), losses.offsets, losses.keys, losses.values)
    grid = np.unique([-np.inf, *range(26), 40.0])  # holds every start
    fixed = fallback(losses, Steps.over_grid(losses, grid), level, TESTS[name], starts, 0.1, False)
    assert fixed == slow_fallback(losses, grid, level, TESTS[name], starts, 0.1)
    exact = fallback(losses, Steps.over_breakpoints(losses), level, TESTS[name], starts, 0.1, False)
    assert (exact is None) == (fixed is None)
    if exact is not None:  # keys are whole numbers, so that the grid has a point in every interval
        np.testing.assert_array_equal(losses.at(exact), losses.at(fixed))


def not_nested():
    """Losses that wsr rejects at a small level and not at a larger one: its bets are tuned to the level."""
    losses, level = np.concatenate((np.ones(13), np.zeros(47))), 0.44
    decided = {delta: TESTS["wsr"].decision(losses, level, delta) for delta in (0.033, 0.034, 0.066, 0.067, 0.1)}
    assert decided == {0.033: True, 0.034: True, 0.066: False, 0.067: False, 0.1: False}
    return losses, level


def staged(states):
    """Losses of whole samples, one after the other, as [(key from which a state is left, losses)]."""
    keys, losses = zip(*states, strict=True)
    units = losses[0].size
    return Curves(
        losses[0],
        losses[0],
        np.arange(units + 1) * (len(states) - 1),
        np.tile(np.array(keys[1:]), units),
        np.stack(losses[1:], axis=1).ravel(),
    )


def test_a_rejection_counts_only_where_every_larger_level_in_use_rejects_too():
    passing, level = not_nested()
    losses = staged([(None, np.ones(60)), (1.0, passing), (5.0, np.ones(60))])
    assert losses.at(3.0).tolist() == passing.tolist()
    found = fallback(losses, Steps.over_breakpoints(losses), level, TESTS["wsr"], (-np.inf, 3.0, 7.0), 0.1, False)
    assert found is None  # 0.033 rejects at the second start; 0.067, which the first might have made of it, does not


def test_a_chain_claims_nothing_beyond_the_next_start():
    passing, level = not_nested()
    losses = staged([(None, passing), (1.0, passing), (9.0, np.ones(60))])
    found = fallback(losses, Steps.over_breakpoints(losses), level, TESTS["wsr"], (-np.inf, 3.0, 7.0), 0.1, False)
    assert found == 2.0  # between the last key that was removed and the start that failed at 0.067


def test_starts_must_ascend():
    losses = curves_with([(1.0, 0.1)], 0.1)
    with pytest.raises(ValueError, match="ascend"):
        fallback(losses, Steps.over_breakpoints(losses), 0.5, TESTS["hedge"], (-np.inf, 3.0, 2.0), 0.1, False)


def test_a_walk_that_never_fails_ends_with_all_of_delta():
    """The losses are rejected at delta = .1 and at .034, not at .033: only a level that was passed on gets through."""
    test, units = TESTS["hoeffding-bentkus"], 60
    level = next(a for a in np.arange(0.1, 0.9, 0.001) if test.decision(np.full(units, 0.1), a, 0.034))
    assert not test.decision(np.full(units, 0.1), level, 0.033)
    losses = curves_with([(1.0, 0.1), (5.0, 0.1), (9.0, 0.1)], 0.1, units)
    steps, starts = Steps.over_breakpoints(losses), (-np.inf, 3.0, 7.0)
    assert fallback(losses, steps, level, test, starts, 0.1, False) == np.inf
    assert fallback(losses, steps, level, test, starts, 0.1, False, head_failed=True) is None


@pytest.mark.parametrize("starts", DELTA_SHARES)
def test_the_shares_are_all_of_delta(starts):
    assert len(DELTA_SHARES[starts]) == starts
    assert math.fsum(DELTA_SHARES[starts]) == 1.0
