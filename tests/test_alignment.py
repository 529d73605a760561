"""Two runs and judgements matched by id: what counts, what is ignored, what is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from surecut import Candidates, InputError

RETRIEVER = {"q1": {"a": 3.0, "b": 2.0, "c": 1.0}, "q2": {"a": 5.0, "d": 4.0}}
RERANKER = {"q1": {"a": 0.1, "b": 0.9, "c": 0.5}, "q2": {"a": 0.2, "d": 0.3}}
QRELS = {"q1": {"b": 1, "z": 2}, "q2": {"a": 0, "d": 3}}


def without(run, query, *documents):
    """The run without some documents of a query."""
    return {**run, query: {doc: score for doc, score in run[query].items() if doc not in documents}}


def long_frame():
    rows = [(q, d, s, RERANKER[q][d], QRELS[q].get(d)) for q, docs in RETRIEVER.items() for d, s in docs.items()]
    return pl.DataFrame(rows, schema=["query_id", "doc_id", "retriever", "reranker", "relevance"], orient="row")


def qrels_frame():
    rows = [(q, d, g) for q, docs in QRELS.items() for d, g in docs.items()]
    return pl.DataFrame(rows, schema=["query_id", "doc_id", "relevance"], orient="row")


def test_scores_and_grades_meet_by_query_and_document():
    data = Candidates.from_dicts(RETRIEVER, RERANKER, QRELS)
    assert data.query_ids.tolist() == ["q1", "q2"]
    assert data.doc_ids.to_list() == ["a", "b", "c", "a", "d"]
    assert data.reranker.tolist() == [0.1, 0.9, 0.5, 0.2, 0.3]
    assert data.grades.tolist() == [-1, 1, -1, 0, 3]
    assert data.missed.tolist() == [2]
    assert data.missed_offsets.tolist() == [0, 1, 1]


def test_every_container_gives_the_same_data():
    whole = Candidates.from_dicts(RETRIEVER, RERANKER, QRELS)
    long, judged = long_frame(), qrels_frame()
    others = [
        Candidates.from_frame(long.drop("relevance"), judged),
        Candidates.from_frame(long.drop("relevance").lazy(), judged.to_pandas()),
        Candidates.from_frame(long.to_pandas(), QRELS),
        Candidates.from_frame(long.reverse(), judged.reverse()),
        Candidates.from_arrays(
            long["retriever"].to_numpy(),
            long["reranker"].to_numpy(),
            long["relevance"].fill_null(0).to_numpy(),
            offsets=[0, 3, 5],
            query_ids=["q1", "q2"],
            missed=[[2], []],
        ),
    ]
    assert {each.fingerprint() for each in others} == {whole.fingerprint()}


@pytest.mark.parametrize("dtype", ["float64", "Int64", "int64[pyarrow]", "object"])
def test_null_grades_of_a_frame_are_unjudged(dtype):
    frame = long_frame().to_pandas()
    frame["relevance"] = pd.Series([None, 1, None, 0, 3], dtype=dtype)
    assert Candidates.from_frame(frame).grades.tolist() == [-1, 1, -1, 0, 3]


@pytest.mark.parametrize("kind", ["string", "category", "object"])
def test_pandas_ids_of_any_kind_are_kept_exactly(kind):
    frame = long_frame().with_columns(pl.col("doc_id").replace({"a": "007"})).to_pandas()
    frame = frame.astype({"query_id": kind, "doc_id": kind})
    assert Candidates.from_frame(frame).doc_ids.to_list() == ["007", "b", "c", "007", "d"]


def test_whole_numbers_become_ids_but_floating_point_numbers_do_not():
    frame = long_frame().with_columns(doc_id=pl.int_range(pl.len()))
    assert Candidates.from_frame(frame).doc_ids.to_list() == ["0", "1", "2", "3", "4"]
    with pytest.raises(InputError, match="ids must be strings"):
        Candidates.from_frame(frame.with_columns(pl.col("doc_id").cast(pl.Float64)))


def test_lists_of_1_to_3000_candidates_live_together():
    depths = [1, 3, 3000, 2, 500]
    retriever = {f"q{n}": {f"d{i:04d}": float(n - i) for i in range(n)} for n in depths}
    reranker = {q: {d: -s for d, s in docs.items()} for q, docs in retriever.items()}
    data = Candidates.from_dicts(retriever, reranker, {"q3000": {"d2999": 1}})
    assert data.lengths.tolist() == depths
    assert data.retriever[data.offsets[:-1]].tolist() == [float(n) for n in depths]
    assert np.array_equal(data.reranker, -data.retriever.astype(np.float64))
    assert np.flatnonzero(data.grades == 1).tolist() == [1 + 3 + 2999]


def test_extra_reranked_documents_are_counted():
    more = {**RERANKER, "q1": {**RERANKER["q1"], "x": 9.0, "y": 8.0}, "q9": {"a": 1.0}}
    data = Candidates.from_dicts(RETRIEVER, more, QRELS)
    assert data.census.extra_reranked == 3
    assert data.fingerprint() == Candidates.from_dicts(RETRIEVER, RERANKER, QRELS).fingerprint()


def test_missing_reranker_scores_name_query_document_and_a_depth_that_fits():
    fewer = without(RERANKER, "q1", "c")
    with pytest.raises(
        InputError, match=r"no score for query 'q1', document 'c'.*--depth 2 at most, .*--missing-reranker lowest"
    ):
        Candidates.from_dicts(RETRIEVER, fewer)
    assert Candidates.from_dicts(RETRIEVER, fewer, depth=2).lengths.tolist() == [2, 2]


def test_the_suggested_depth_fits_every_query():
    fewer = without(without(RERANKER, "q1", "c"), "q2", "d")
    with pytest.raises(InputError, match=r"\(2 such candidates here\).*--depth 1 at most,"):
        Candidates.from_dicts(RETRIEVER, fewer)
    assert Candidates.from_dicts(RETRIEVER, fewer, depth=1).lengths.tolist() == [1, 1]


def test_no_depth_is_suggested_where_none_would_fit():
    with pytest.raises(InputError, match="no score for query 'q1', document 'a'") as refused:
        Candidates.from_dicts(RETRIEVER, without(RERANKER, "q1", "a"))
    assert "--depth" not in str(refused.value)


def test_missing_scores_can_be_placed_last():
    data = Candidates.from_dicts(RETRIEVER, {"q1": {"a": -7.0, "b": 0.9}}, missing_reranker="lowest")
    assert data.census.filled_reranked == 3
    assert data.reranker[2] < -7.0
    assert np.isfinite(data.reranker).all()


def test_judged_queries_outside_the_run_are_left_out_and_counted():
    judged = {**QRELS, "q9": {"a": 2}, "q8": {"a": 0}}
    data = Candidates.from_dicts(RETRIEVER, RERANKER, judged)
    assert data.census.absent_queries == 2
    assert data.query_ids.tolist() == ["q1", "q2"]


def test_absent_zero_keeps_them_with_an_empty_list():
    data = Candidates.from_dicts(RETRIEVER, RERANKER, {**QRELS, "q9": {"a": 2}}, absent="zero")
    assert data.query_ids.tolist() == ["q1", "q2", "q9"]
    assert data.lengths.tolist() == [3, 2, 0]
    assert data.judged.all()
    assert data.missed[data.missed_offsets[2] : data.missed_offsets[3]].tolist() == [2]
    assert (data.census.absent_queries, data.census.absent_as_zero) == (0, 1)


def test_queries_without_judgements_are_marked():
    data = Candidates.from_dicts(RETRIEVER, RERANKER, {"q2": {"d": 1}})
    assert data.judged.tolist() == [False, True]
    assert data.without_relevant == 0


def test_negative_grades_are_0_and_counted():
    data = Candidates.from_dicts(RETRIEVER, RERANKER, {"q1": {"a": -2, "z": -1}, "q2": {"a": 1}})
    assert data.grades.tolist()[0] == 0
    assert data.missed.tolist() == [0]
    assert data.census.negative_grades == 2


def test_a_query_judged_with_nothing_relevant_is_kept():
    data = Candidates.from_dicts(RETRIEVER, RERANKER, {"q1": {"a": 0, "z": 0}, "q2": {"a": 1}})
    assert data.judged.all()
    assert data.without_relevant == 1


def test_the_same_judgement_twice_is_harmless_but_two_grades_are_not():
    twice = pl.concat((qrels_frame(), qrels_frame().head(1)))
    assert Candidates.from_frame(long_frame(), twice).grades.tolist() == [-1, 1, -1, 0, 3]
    clash = pl.concat((qrels_frame(), qrels_frame().head(1).with_columns(pl.lit(2, pl.Int64).alias("relevance"))))
    with pytest.raises(InputError, match="two different grades for query 'q1', document 'b'"):
        Candidates.from_frame(long_frame(), clash)


def test_judgements_for_none_of_the_queries_are_refused():
    with pytest.raises(InputError, match="none of the run's queries: the run begins with 'q1', they begin with 'Q1'"):
        Candidates.from_dicts(RETRIEVER, RERANKER, {"Q1": {"a": 1}})


@pytest.mark.parametrize("score", [float("nan"), float("inf"), None, "high", 1e39])
def test_scores_that_are_no_finite_numbers_are_named(score):
    with pytest.raises(InputError, match="retriever score of query 'q2', document 'd' is not a finite number"):
        Candidates.from_dicts({**RETRIEVER, "q2": {"a": 5.0, "d": score}}, RERANKER)


def test_a_reranker_score_may_exceed_32_bits_but_not_be_infinite():
    large = {**RERANKER, "q2": {"a": 1e39, "d": -1e300}}
    assert Candidates.from_dicts(RETRIEVER, large).reranker[3] == 1e39
    with pytest.raises(InputError, match="reranker score of query 'q2', document 'a'"):
        Candidates.from_dicts(RETRIEVER, {**RERANKER, "q2": {"a": float("inf"), "d": 0.0}})


@pytest.mark.parametrize(
    ("build", "complaint"),
    [
        (lambda: Candidates.from_dicts({"q": ["a"]}), "'q' holds list"),
        (lambda: Candidates.from_frame([1, 2]), "polars or pandas frame, not list"),
        (lambda: Candidates.from_frame(long_frame().drop("doc_id")), "no column 'doc_id'"),
        (lambda: Candidates.from_frame(long_frame(), qrels_frame().drop("relevance")), "no column 'relevance'"),
        (lambda: Candidates.from_dicts(RETRIEVER, None, {"q1": {"a": 0.5}}), "'0.5' is not a whole number"),
        (lambda: Candidates.from_frame(pl.concat((long_frame(), long_frame()))), "'a' twice"),
    ],
    ids=["list", "no-frame", "no-doc-id", "no-relevance", "half-a-grade", "twice"],
)
def test_what_cannot_be_read_is_said(build, complaint):
    with pytest.raises(InputError, match=complaint):
        build()


def test_a_grade_beyond_32_bits_is_refused():
    with pytest.raises(InputError, match="grade"):
        Candidates.from_dicts(RETRIEVER, None, {"q1": {"a": 2**32}})


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")
def test_null_grades_of_judgements_are_unjudged():
    judged = qrels_frame().with_columns(pl.when(pl.col("doc_id") != "a").then("relevance"))
    assert Candidates.from_frame(long_frame(), judged).grades.tolist() == [-1, 1, -1, -1, 3]


@pytest.mark.parametrize("column", ["query_id", "doc_id"])
def test_null_ids_are_refused_by_the_name_of_their_column(column):
    hole = pl.when(pl.int_range(pl.len()) != 2).then(column).alias(column)
    with pytest.raises(InputError, match=column):
        Candidates.from_frame(long_frame().with_columns(hole))


def test_pandas_na_among_ids_is_an_input_error():
    frame = long_frame().to_pandas()
    frame["doc_id"] = pd.array(["a", "b", None, "a", "d"], dtype="string")
    with pytest.raises(InputError, match="doc_id"):
        Candidates.from_frame(frame)
