"""Thresholds by how many candidates they keep, against trying every one of them."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surecut.errors import InputError
from surecut.kernels.selection import BITS
from surecut.placement import placed_grid, placed_starts, sampled, thresholds_for_means
from surecut.reducing import CountKept
from surecut.rules import GRID_SIZE, KEEP_EVERYTHING, as_rule
from surecut.simulation import simulate
from tests.strategies import RULE_TEXTS, as_candidates, tied_queries


def lowest(data, rule, size, min_keep, max_keep):
    """The lowest of all thresholds at which something changes that keeps at most so many."""
    for threshold in [KEEP_EVERYTHING, *np.nextafter(np.unique(rule.keys(data)), np.inf)]:
        if CountKept(rule, threshold, min_keep, max_keep)(data).mean() <= size:
            return threshold
    return None


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    text=st.sampled_from(RULE_TEXTS),
    sizes=st.lists(st.floats(0.0, 12.0), min_size=1, max_size=4),
    min_keep=st.integers(0, 2),
    max_keep=st.sampled_from((None, 3, 5)),
)
def test_a_threshold_keeps_no_more_than_asked_and_no_lower_one_does(seed, text, sizes, min_keep, max_keep):
    data, rule = as_candidates(tied_queries(seed, count=9)), as_rule(text)
    found = thresholds_for_means(data, rule, sizes, min_keep, max_keep)
    for size, threshold in zip(sizes, found, strict=True):
        expected = lowest(data, rule, size, min_keep, max_keep)
        if expected is not None:
            assert threshold == expected
        else:  # not even the first ones are allowed: nothing beyond them is kept
            kept = CountKept(rule, threshold, min_keep, max_keep)(data)
            np.testing.assert_array_equal(kept, np.minimum(data.lengths, min_keep))


@pytest.mark.parametrize("text", ["score", "gap"])
def test_starts_and_grids_of_raw_scales_come_from_the_keys(text):
    data, rule = simulate("dense-electra", queries=40, depth=30), as_rule(text)
    first, second = placed_starts(rule, data)
    assert CountKept(rule, first, 1, None)(data).mean() <= 0.3 * data.lengths.mean()
    assert first < second
    grid = placed_grid(rule, data)
    assert grid[0] == KEEP_EVERYTHING
    assert grid.size <= GRID_SIZE + 1
    assert np.isin(grid[[1, -1]], rule.keys(data)).all()


def test_estimates_on_very_many_queries_rest_on_some_of_them_whatever_their_order(monkeypatch):
    monkeypatch.setattr("surecut.placement.ENOUGH", 50)
    data = simulate("dense-electra", queries=200, depth=10, seed=3)
    some, other = sampled(data), sampled(data.take(np.arange(200)[::-1]))
    assert len(some) == 50
    assert set(some.query_ids) == set(other.query_ids)
    assert sampled(data.take(np.arange(50))).query_ids.tolist() == data.query_ids[:50].tolist()


def test_counts_of_many_pieces_do_not_pile_up():
    data, pieces = simulate("dense-electra", queries=30, depth=20, seed=1), 50

    class Many:
        lengths = np.tile(data.lengths, pieces)

        def map(self, work, scores_only):
            return (work(data) for _ in range(pieces))

    thresholds_for_means(data, as_rule("score"), [4.0])  # compiled
    tracemalloc.start()
    try:
        found = thresholds_for_means(Many(), as_rule("score"), [4.0])
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found == thresholds_for_means(data, as_rule("score"), [4.0])
    assert most < pieces / 5 * 8 * 2**BITS


def test_a_grid_needs_queries_that_found_something():
    data = simulate("dense-electra", queries=30, depth=5, seed=1)
    with pytest.raises(InputError, match="no tuning query has a candidate"):
        placed_grid(as_rule("score"), data.take([]))
