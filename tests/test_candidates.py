"""Candidates: ragged columns, parts of them, and a fingerprint that only the content decides."""

import numpy as np
import pytest

from surecut import Candidates, InputError, simulate
from surecut.candidates import hashed
from surecut.fingerprints import combine_digests, query_digests

SCORES = [[3.0, 1.0, 2.0], [1.0, 2.0, 3.0]]
SECOND = [[0.3, 0.1, 0.2], [0.1, 0.2, 0.3]]
GRADES = [[0, 2, 0], [1, 0, 0]]


@pytest.fixture
def data():
    return Candidates.from_arrays(SCORES, SECOND, GRADES, query_ids=["a", "b"], missed=[[1], []])


@pytest.fixture(scope="module")
def many():
    return simulate("graded", queries=300, depth=7, seed=1, ties=True)


def test_rows_are_put_in_retriever_order(data):
    assert data.retriever.tolist() == [3.0, 2.0, 1.0, 3.0, 2.0, 1.0]
    assert data.reranker.tolist() == [0.3, 0.2, 0.1, 0.3, 0.2, 0.1]
    assert data.grades.tolist() == [0, 0, 2, 0, 0, 1]
    assert repr(data) == "Candidates(2 queries, 6 candidates, 2 judged)"


def test_scores_are_32_bit_for_the_retriever_and_64_bit_for_the_reranker(data):
    assert (data.retriever.dtype, data.reranker.dtype) == (np.float32, np.float64)
    integers = Candidates.from_arrays(np.array([[2, 1]], dtype=np.int16), np.array([[1, 2]], dtype=np.float16))
    assert (integers.retriever.dtype, integers.reranker.dtype) == (np.float32, np.float64)


def test_flat_arrays_with_offsets_may_be_ragged_and_empty():
    data = Candidates.from_arrays([5.0, 1.0, 2.0], offsets=[0, 1, 1, 3])
    assert data.lengths.tolist() == [1, 0, 2]
    assert data.query_ids.tolist() == ["0", "1", "2"]
    assert data.retriever.tolist() == [5.0, 2.0, 1.0]
    assert not data.judged.any()


def test_ties_keep_the_order_given_without_ids_and_follow_the_ids_with_them():
    tied, marks = [[1.0, 1.0, 1.0]], [[10.0, 20.0, 30.0]]
    assert Candidates.from_arrays(tied, marks).reranker.tolist() == marks[0]
    assert Candidates.from_arrays(tied, marks, doc_ids=[["b", "c", "a"]]).reranker.tolist() == [20.0, 10.0, 30.0]


def test_total_relevant_is_a_shorthand_for_missed():
    short = Candidates.from_arrays(SCORES, SECOND, [[0, 1, 0], [1, 0, 0]], total_relevant=[3, 1])
    long = Candidates.from_arrays(SCORES, SECOND, [[0, 1, 0], [1, 0, 0]], missed=[[1, 1], []])
    assert short.fingerprint() == long.fingerprint()


def test_negative_grades_are_0_and_counted():
    data = Candidates.from_arrays(SCORES, SECOND, [[-1, 2, 0], [-2, 0, 0]])
    assert data.grades.min() == 0
    assert data.census.negative_grades == 2


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"retriever": [1.0, 2.0]}, "must be 2-D"),
        ({"retriever": [[1.0, np.nan]]}, "retriever score of query '0', candidate 1 is not a finite number"),
        ({"retriever": [[1.0, 1e39]]}, "retriever score of query '0', candidate 1 is not a finite number"),
        ({"retriever": SCORES, "reranker": [[1.0, 2.0]]}, "reranker has 2 values for 6 candidates"),
        ({"retriever": SCORES, "reranker": [[1, 2, 3], [1, 2, np.inf]]}, "reranker score of query '1', candidate 2"),
        ({"retriever": SCORES, "relevance": [[1]]}, "relevance has 1 grades for 6"),
        ({"retriever": SCORES, "relevance": [[0, 1, 0.5], [0, 0, 0]]}, "whole numbers"),
        ({"retriever": SCORES, "query_ids": ["a"]}, "query_ids has 1 entries for 2 queries"),
        ({"retriever": SCORES, "query_ids": ["a", "a"]}, "query id 'a' occurs more than once"),
        ({"retriever": SCORES, "doc_ids": [["a", "b", "a"], ["a", "b", "c"]]}, "query '0' has document 'a' twice"),
        ({"retriever": SCORES, "doc_ids": [["a", "b"], ["c"]]}, "doc_ids has 3 ids for 6"),
        ({"retriever": [1.0], "offsets": [0, 2]}, "offsets must rise from 0 to the number of candidates, 1"),
        ({"retriever": [1.0], "offsets": [0, 1, 0, 1]}, "offsets must rise"),
        ({"retriever": SCORES, "relevance": GRADES, "missed": [[1]]}, "missed has 1 entries for 2"),
        ({"retriever": SCORES, "relevance": GRADES, "total_relevant": [0, 1]}, "total_relevant of query 0 is below"),
        ({"retriever": SCORES, "missed": [[], []], "total_relevant": 1}, "not both"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(arguments, complaint):
    with pytest.raises(InputError, match=complaint):
        Candidates.from_arrays(**arguments)


@pytest.mark.parametrize("scores", [[[1.0, 2.0], [1.0]], [["high", "low"]]], ids=["ragged", "text"])
def test_arrays_that_are_no_numbers_are_input_errors(scores):
    with pytest.raises(InputError):
        Candidates.from_arrays(scores)


def test_select_keeps_the_order_asked_for(data):
    swapped = data.select(["b", "a"])
    assert swapped.query_ids.tolist() == ["b", "a"]
    assert swapped.grades.tolist() == [0, 0, 1, 0, 0, 2]
    assert swapped.missed_offsets.tolist() == [0, 0, 1]
    with pytest.raises(InputError, match="no query 'c'"):
        data.select(["c"])


def test_split_is_a_partition_that_only_ids_decide(many):
    parts = many.split((0.5, 0.3, 0.2), seed=4)
    names = [set(part.query_ids) for part in parts]
    assert sum(map(len, names)) == len(many)
    assert set.union(*names) == set(many.query_ids)
    shuffled = many.take(np.random.default_rng(0).permutation(len(many)))
    assert [set(part.query_ids) for part in shuffled.split((0.5, 0.3, 0.2), seed=4)] == names
    assert set(many.split((0.5, 0.5), seed=5)[0].query_ids) != set(many.split((0.5, 0.5), seed=6)[0].query_ids)


def test_shares_below_one_leave_queries_out(many):
    assert 0 < len(many.split((0.25,))[0]) < len(many) / 2


def test_groups_are_not_torn_apart(many):
    grouped = many.with_groups({query: f"g{i // 3}" for i, query in enumerate(many.query_ids)})
    left, right = grouped.split((0.5, 0.5))
    assert set(left.units).isdisjoint(right.units)
    assert grouped.fingerprint() != many.fingerprint()


@pytest.mark.parametrize("shares", [(), (0.5, 0.6), (0.5, -0.1), (0.0, 1.0)])
def test_shares_that_make_no_split_are_refused(many, shares):
    with pytest.raises(InputError, match="shares must be positive"):
        many.split(shares)


def test_cut_moves_what_was_judged_beyond_to_missed(data):
    cut = data.cut(2)
    assert cut.lengths.tolist() == [2, 2]
    assert cut.missed.tolist() == [2, 1, 1]
    assert cut.missed_offsets.tolist() == [0, 2, 3]
    assert cut.without_relevant == 0
    assert data.cut(None) is data
    assert data.cut(3).fingerprint() == data.fingerprint()
    assert (data.depth, cut.depth, data.cut(3).depth) == (None, 2, 3)


def test_the_fingerprint_ignores_order_and_irrelevant_judgements(many):
    shuffled = many.take(np.random.default_rng(1).permutation(len(many)))
    assert shuffled.fingerprint() == many.fingerprint()
    unjudged = Candidates.from_dicts({"q": {"a": 2.0, "b": 1.0}}, None, {"q": {"a": 1}})
    zero = Candidates.from_dicts({"q": {"b": 1.0, "a": 2.0}}, None, {"q": {"a": 1, "b": 0, "z": 0}})
    assert unjudged.fingerprint() == zero.fingerprint()


@pytest.mark.parametrize("change", ["retriever", "reranker", "grade", "query", "missed"])
def test_the_fingerprint_notices_every_change_of_content(data, change):
    parts = {"retriever": np.array(SCORES), "reranker": np.array(SECOND), "relevance": np.array(GRADES)}
    named = {"query_ids": ["a", "b"], "missed": [[1], []]}
    if change == "query":
        named["query_ids"] = ["a", "c"]
    elif change == "missed":
        named["missed"] = [[1], [1]]
    else:
        parts["relevance" if change == "grade" else change][1, 2] += 1
    assert Candidates.from_arrays(**parts, **named).fingerprint() != data.fingerprint()


def test_fingerprints_of_shards_merge_in_any_order(many):
    left, right = many.split((0.5, 0.5))
    ids = [*right.query_ids, *left.query_ids]
    assert combine_digests(ids, np.concatenate((query_digests(right), query_digests(left)))) == many.fingerprint()


def test_hashes_depend_on_the_id_and_the_salt_alone():
    assert hashed(["a", "b"], b"x").tolist() == hashed(["b", "a"], b"x").tolist()[::-1]
    assert hashed(["a"], b"x") != hashed(["a"], b"y")
