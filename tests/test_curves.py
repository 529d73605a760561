"""Curves against brute force: prune, sort and measure again at every threshold, on data full of ties."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surecut import InputError
from surecut.curves import full_measure, measure_curves
from surecut.measures import as_measure, overlap
from surecut.rules import as_rule
from tests.strategies import (
    KERNEL_MEASURES,
    RULE_TEXTS,
    as_candidates,
    few_queries,
    final_list,
    kept_by_definition,
    measure_text,
    missed_of,
    rows_of,
    tied_queries,
    value_by_definition,
)

TAILS = ("drop", "append")
LIMITS = ((0, None), (1, None), (3, None), (0, 2), (1, 1), (2, 4))


def thresholds_of(keys):
    """Every breakpoint, the points between, and both ends."""
    levels = np.unique(keys)
    return [-np.inf, *levels, *((levels[1:] + levels[:-1]) / 2), np.nextafter(levels[-1], np.inf), np.inf]


def final_grades(data, keys, final, query, threshold, tail, min_keep, max_keep):
    rows = rows_of(data, query)
    kept = kept_by_definition(keys[rows], threshold, min_keep, max_keep)
    return [int(data.grades[rows][place]) for place in final_list(final[rows], kept, tail)]


def judged_grades(data, query):
    return [int(grade) for grade in data.grades[rows_of(data, query)]] + missed_of(data, query)


def values_by_brute_force(data, keys, final, measure, threshold, tail, min_keep, max_keep):
    return [
        value_by_definition(
            *measure,
            final_grades(data, keys, final, query, threshold, tail, min_keep, max_keep),
            judged_grades(data, query),
        )
        for query in range(len(data))
    ]


def overlap_by_brute_force(data, keys, final, k, threshold, tail, min_keep, max_keep):
    values = []
    for query in range(len(data)):
        rows = rows_of(data, query)
        kept = kept_by_definition(keys[rows], threshold, min_keep, max_keep)
        unpruned = set(final_list(final[rows], final[rows].size, tail)[:k])
        values.append(len(unpruned & set(final_list(final[rows], kept, tail)[:k])) / len(unpruned))
    return values


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("measure", KERNEL_MEASURES, ids=lambda measure: measure_text(*measure))
def test_every_measure_equals_brute_force_at_and_between_all_breakpoints(measure, tail):
    data = as_candidates(tied_queries(5, count=12, longest=12, values=5))
    for rule, (min_keep, max_keep) in zip(RULE_TEXTS, (*LIMITS, (1, None), (0, 3)), strict=True):
        keys = as_rule(rule).keys(data)
        chosen = as_measure(measure_text(*measure))
        curves = measure_curves(data, keys, data.reranker, chosen, tail, min_keep, max_keep)
        for threshold in thresholds_of(keys)[::3]:
            expected = values_by_brute_force(data, keys, data.reranker, measure, threshold, tail, min_keep, max_keep)
            np.testing.assert_allclose(curves.at(threshold), expected, rtol=0, atol=1e-12)


@settings(max_examples=60, deadline=None)
@given(
    queries=few_queries(),
    measure=st.sampled_from(KERNEL_MEASURES),
    rule=st.sampled_from(RULE_TEXTS),
    tail=st.sampled_from(TAILS),
    limits=st.sampled_from(LIMITS),
    beta=st.sampled_from((0.0, 0.5, 1.0)),
)
def test_curves_equal_brute_force(queries, measure, rule, tail, limits, beta):
    data = as_candidates(queries)
    keys = as_rule(rule).keys(data)
    final = beta * data.retriever.astype(np.float64) + (1 - beta) * data.reranker
    curves = measure_curves(data, keys, final, as_measure(measure_text(*measure)), tail, *limits)
    for threshold in thresholds_of(keys):
        expected = values_by_brute_force(data, keys, final, measure, threshold, tail, *limits)
        np.testing.assert_allclose(curves.at(threshold), expected, rtol=0, atol=1e-12)
    unpruned = values_by_brute_force(data, keys, final, measure, -np.inf, tail, 0, None)
    np.testing.assert_allclose(curves.full, unpruned, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(curves.full, full_measure(data, final, as_measure(measure_text(*measure))))


@settings(max_examples=40, deadline=None)
@given(
    queries=few_queries(),
    k=st.integers(1, 10),
    tail=st.sampled_from(TAILS),
    limits=st.sampled_from(LIMITS),
)
def test_overlap_with_the_unpruned_list_equals_brute_force(queries, k, tail, limits):
    data = as_candidates(queries)
    keys = as_rule("softmax").keys(data)
    curves = measure_curves(data, keys, data.reranker, overlap(k), tail, *limits)
    for threshold in thresholds_of(keys):
        expected = overlap_by_brute_force(data, keys, data.reranker, k, threshold, tail, *limits)
        np.testing.assert_allclose(curves.at(threshold), expected, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(curves.full, 1.0)


def share_of_grade_lost(grades, missed):
    """A loss of the user's that sees order, length and what was missed."""
    seen = sum(grade / (place + 1) for place, grade in enumerate(grades))
    return 1.0 - seen / (seen + 1.0 + len(grades) / 10 + sum(missed))


def not_listed(data, query, listed):
    """Grades of judged documents outside the list: never retrieved, or pruned."""
    rest = data.grades[data.offsets[query] : data.offsets[query + 1]].clip(min=0).tolist()
    for grade in listed:
        rest.remove(grade)
    return missed_of(data, query) + rest


@settings(max_examples=30, deadline=None)
@given(queries=few_queries(), tail=st.sampled_from(TAILS), limits=st.sampled_from(LIMITS))
def test_a_function_of_the_users_is_evaluated_on_every_prefix(queries, tail, limits):
    data = as_candidates(queries)
    keys = as_rule("gap").keys(data)
    measure = as_measure(share_of_grade_lost)
    curves = measure_curves(data, keys, data.reranker, measure, tail, *limits)
    for threshold in thresholds_of(keys):
        lists = [final_grades(data, keys, data.reranker, q, threshold, tail, *limits) for q in range(len(data))]
        expected = [share_of_grade_lost(grades, not_listed(data, q, grades)) for q, grades in enumerate(lists)]
        np.testing.assert_allclose(curves.at(threshold), expected, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(curves.full, full_measure(data, data.reranker, measure))


@pytest.mark.parametrize("value", [1.5, -0.1, float("nan")])
def test_a_function_that_leaves_the_unit_interval_is_refused(value):
    data = as_candidates(tied_queries(1, count=3))
    measure = as_measure(lambda grades, missed: value)
    with pytest.raises(InputError, match=r"\[0, 1\]"):
        measure_curves(data, as_rule("rank").keys(data), data.reranker, measure)


def test_events_run_from_the_longest_prefix_to_the_shortest():
    data = as_candidates(tied_queries(3, count=30))
    curves = measure_curves(data, as_rule("softmax").keys(data), data.reranker, as_measure("nDCG@10"))
    assert curves.keys.size > 30
    for query in range(len(curves)):
        events = slice(curves.offsets[query], curves.offsets[query + 1])
        assert np.all(np.diff(curves.keys[events]) >= 0)
        assert np.all(curves.owners[events] == query)


def test_changes_add_up_to_the_shortest_prefix():
    data = as_candidates(tied_queries(4, count=30))
    curves = measure_curves(data, as_rule("zscore").keys(data), data.reranker, as_measure("AP"), max_keep=6)
    summed = curves.start + np.bincount(curves.owners, weights=curves.changes, minlength=len(curves))
    np.testing.assert_allclose(summed, curves.at(np.inf), rtol=0, atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), units=st.integers(1, 12))
def test_merged_curves_are_the_mean_of_their_members(seed, units):
    data = as_candidates(tied_queries(seed, count=20))
    keys = as_rule("softmax").keys(data)
    curves = measure_curves(data, keys, data.reranker, as_measure("nDCG@5"))
    unit = np.concatenate((np.arange(units), np.random.default_rng(seed).integers(0, units, 20)))[-20:]
    unit = np.unique(unit, return_inverse=True)[1]
    merged = curves.merged(unit)
    sizes = np.bincount(unit)
    for threshold in thresholds_of(keys)[::4]:
        expected = np.bincount(unit, weights=curves.at(threshold)) / sizes
        np.testing.assert_allclose(merged.at(threshold), expected, rtol=0, atol=1e-12)


def test_many_units_are_as_exact_as_few():
    """Each is added up by itself: what others add up to costs it no digits."""
    data = as_candidates(tied_queries(4, count=20))
    curves = measure_curves(data, as_rule("softmax").keys(data), data.reranker, as_measure("nDCG@5"))
    alone = curves.merged(np.arange(20) // 2)
    copies = curves.take(np.tile(np.arange(20), 2_000)).merged(np.arange(40_000) // 2)
    np.testing.assert_array_equal(copies.values, np.tile(alone.values, 2_000))


def test_taken_curves_follow_the_positions_asked_for():
    data = as_candidates(tied_queries(9, count=15))
    keys = as_rule("softmax").keys(data)
    curves = measure_curves(data, keys, data.reranker, as_measure("RR@10"))
    places = np.array([3, 3, 14, 0, 7])
    for threshold in thresholds_of(keys)[::5]:
        np.testing.assert_array_equal(curves.take(places).at(threshold), curves.at(threshold)[places])


def test_a_function_of_the_users_sees_what_was_pruned():
    """A recall of one's own must not call a pruned document forgotten."""

    def recall(grades, missed):
        return (grades > 0).sum() / max(((grades > 0).sum() + (missed > 0).sum()), 1)

    data = as_candidates(tied_queries(5, count=20))
    keys = as_rule("rank").keys(data)
    own = measure_curves(data, keys, data.reranker, as_measure(recall), min_keep=0)
    builtin = measure_curves(data, keys, data.reranker, as_measure("R"), min_keep=0)
    for threshold in thresholds_of(keys):
        np.testing.assert_allclose(own.at(threshold), builtin.at(threshold), rtol=0, atol=1e-12)
