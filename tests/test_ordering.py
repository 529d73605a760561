"""The retriever's order: score descending, ties by document id descending in UTF-8 bytes."""

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surecut.ordering import as_float32, retriever_order

ROWS = st.tuples(st.sampled_from([-1.5, 0.0, 1.0, 2.0]), st.text(st.sampled_from("aBé1\uffee\U0001d11e"), max_size=3))
LISTS = st.lists(st.lists(ROWS, max_size=8, unique_by=lambda row: row[1]), min_size=1, max_size=4)


def ordered(lists, with_ids=True):
    """(score, id) rows of each list as retriever_order puts them."""
    rows = list(itertools.chain.from_iterable(lists))
    offsets = np.concatenate(([0], np.cumsum([len(each) for each in lists]))).astype(np.int64)
    scores = as_float32(np.array([score for score, _ in rows], dtype=np.float64))
    ids = pl.Series([doc for _, doc in rows], dtype=pl.String) if with_ids else None
    order = retriever_order(scores, offsets, ids)
    placed = rows if order is None else [rows[i] for i in order]
    return [placed[low:high] for low, high in itertools.pairwise(offsets)]


@given(LISTS)
def test_order_equals_a_sort_by_score_and_id_bytes(lists):
    expected = [sorted(each, key=lambda row: (row[0], row[1].encode()), reverse=True) for each in lists]
    assert ordered(lists) == expected


@given(LISTS)
def test_without_ids_equal_scores_stay_in_the_order_given(lists):
    assert ordered(lists, with_ids=False) == [sorted(each, key=lambda row: -row[0]) for each in lists]


def test_no_permutation_is_made_for_rows_that_are_in_order():
    scores, offsets = np.array([3, 2, 2, 9, 1], dtype=np.float32), np.array([0, 3, 5])
    assert retriever_order(scores, offsets, pl.Series(["a", "c", "b", "z", "a"])) is None
    assert retriever_order(scores, offsets, None) is None


@pytest.mark.parametrize("scores", [[], [1.0]])
def test_lists_too_short_to_sort(scores):
    given_scores = np.array(scores, dtype=np.float32)
    assert retriever_order(given_scores, np.array([0, len(scores)]), pl.Series(["a"] * len(scores))) is None


def test_a_tie_across_two_queries_is_no_tie():
    assert ordered([[(1.0, "a")], [(1.0, "b")], [], [(1.0, "c")]]) == [[(1.0, "a")], [(1.0, "b")], [], [(1.0, "c")]]


def test_scores_become_ties_where_32_bits_end():
    assert ordered([[(1.0 + 1e-9, "a"), (1.0, "b")]])[0][0][1] == "b"


def test_a_score_too_large_for_32_bits_becomes_infinite():
    assert np.isinf(as_float32(np.array([1e39]))).all()
