"""The pruner: every way to ask who survives gives the same answer, to the last tie."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surecut import InputError, calibrate, max_drop
from surecut.pruner import Pruner
from surecut.pruning import prune_run
from surecut.rules import as_rule
from tests.strategies import RULE_TEXTS, as_candidates, kept_by_definition, rows_of, tied_queries

QUERIES = tied_queries(31, count=40)
DATA = as_candidates(QUERIES)
CERTIFICATE = calibrate(DATA, target=max_drop(0.5))


def certificate_with(rule, threshold, min_keep, max_keep):
    chosen = as_rule(rule)
    return replace(
        CERTIFICATE,
        rule=chosen.to_json(),
        threshold=threshold,
        min_keep=min_keep,
        max_keep=max_keep,
        status="certified",
    )


def thresholds_on(keys):
    """Mostly a candidate's own key, where the last tie decides; also between keys and both ends."""
    levels = np.unique(keys).tolist()
    between = ((np.array(levels[1:]) + levels[:-1]) / 2).tolist()
    return st.sampled_from([*levels, *levels, *between, -np.inf, np.inf])


def shapes_of(scores):
    """One query's whole-number scores in every container that is accepted."""
    interleaved = np.full(2 * scores.size, -99.0)
    interleaved[::2] = scores
    column = np.stack((scores, scores), axis=1).astype(np.float32)
    return (
        scores.astype(np.float16),
        scores.astype(np.float32),
        scores.astype(np.float64),
        scores.astype(np.int64),
        scores.tolist(),
        [int(score) for score in scores],
        tuple(scores.tolist()),
        interleaved[::2],
        column[:, 1],
        scores[::-1].copy()[::-1],
    )


@settings(max_examples=50, deadline=None)
@given(
    data=st.data(),
    rule=st.sampled_from(RULE_TEXTS),
    limits=st.sampled_from(((0, None), (1, None), (3, None), (0, 2), (2, 4))),
)
def test_all_ways_to_prune_agree_to_the_last_tie(data, rule, limits):
    keys = as_rule(rule).keys(DATA)
    threshold = data.draw(thresholds_on(keys))
    cert = certificate_with(rule, threshold, *limits)
    shuffle = data.draw(st.randoms(use_true_random=False))
    expected = [kept_by_definition(keys[rows_of(DATA, q)], threshold, *limits) for q in range(len(DATA))]

    batch = cert.keep(DATA.retriever, offsets=DATA.offsets)
    assert batch.tolist() == expected
    kept_docs = {}
    for query, kept in zip(QUERIES, expected, strict=True):
        ordered = query.in_retriever_order()
        scores = np.array([row[0] for row in ordered], dtype=float)
        assert {cert.keep(shape, any_length=True) for shape in shapes_of(scores)} == {kept}
        kept_docs[query.query_id] = [row[3] for row in ordered[:kept]]
        places = list(range(len(query.docs)))
        shuffle.shuffle(places)
        ids = [query.docs[i] for i in places]
        surviving = cert.survivors([query.retriever[i] for i in places], ids, any_length=True)
        assert [ids[i] for i in surviving] == kept_docs[query.query_id]

    run = pl.DataFrame(
        [(q.query_id, doc, float(score)) for q in QUERIES for doc, score in zip(q.docs, q.retriever, strict=True)],
        schema=["query_id", "doc_id", "score"],
        orient="row",
    ).sample(fraction=1.0, shuffle=True, seed=shuffle.randrange(1000))
    pruned = prune_run(cert, run)
    for query, docs in kept_docs.items():
        mine = pruned.filter(pl.col("query_id") == query)
        assert mine["doc_id"].to_list() == docs
        assert mine["rank"].to_list() == list(range(1, len(docs) + 1))
    checked = cert.check(DATA)
    assert checked.mean_kept == np.mean(expected)
    assert checked.kept_quantiles["p50"] == np.quantile(expected, 0.5, method="inverted_cdf")


def test_scores_that_differ_only_beyond_32_bits_are_ties():
    pruner = Pruner(as_rule("score"), float(np.float32(1.1)))
    close = [1.1 + 1e-12, 1.1, 1.1 - 1e-12]
    assert pruner.keep(close) == 3
    np.testing.assert_array_equal(pruner.survivors(close, ["a", "c", "b"]), [1, 2, 0])
    np.testing.assert_array_equal(pruner.survivors(close), [0, 1, 2])


def test_ties_go_by_document_id_descending_in_utf8_bytes():
    pruner = Pruner(as_rule("rank"), -2.0)
    ids = ["é", "z", "doc10", "doc9", "𝄞"]
    survivors = pruner.survivors([1.0] * 5, ids)
    assert [ids[i] for i in survivors] == ["𝄞", "é"]


@pytest.mark.parametrize("rule", RULE_TEXTS)
def test_an_empty_list_keeps_nothing(rule):
    for threshold in (-np.inf, -2.0, np.inf):
        pruner = Pruner(as_rule(rule), threshold, shortest=5)
        assert pruner.keep([]) == 0
        assert pruner.survivors([]).size == 0
        assert pruner.keep([], offsets=[0, 0]).tolist() == [0]


@pytest.mark.parametrize("threshold", [-np.inf, -3.0, np.inf])
@pytest.mark.parametrize(
    ("scores", "complaint"),
    [
        ([1.0, 2.0], "descending"),
        ([2.0, np.nan], "nan"),
        ([np.nan], "nan"),
        ([np.inf, 1.0], "infinite"),
        ([1.0, -np.inf], "infinite"),
        ([1e39, 1.0], "beyond 32-bit"),
    ],
)
def test_scores_that_cannot_be_used_are_refused(scores, complaint, threshold):
    pruner = Pruner(as_rule("softmax"), threshold)
    with pytest.raises(InputError, match=complaint):
        pruner.keep(scores)
    with pytest.raises(InputError, match=complaint):
        pruner.keep([3.0, *scores], offsets=[0, 1, 1 + len(scores)])
    if complaint != "descending":
        with pytest.raises(InputError, match=complaint):
            pruner.survivors(scores)


@pytest.mark.parametrize("offsets", [[0, 2], [1, 3], [0, 2, 1, 3], [], [0, 4]])
def test_offsets_that_do_not_cover_the_scores_are_refused(offsets):
    with pytest.raises(InputError, match="offsets"):
        Pruner(as_rule("rank"), -1.0).keep([3.0, 2.0, 1.0], offsets=offsets)


def test_shapes_and_ids_that_do_not_fit_are_refused():
    pruner = Pruner(as_rule("rank"), -1.0)
    with pytest.raises(InputError, match="flat"):
        pruner.keep([[3.0, 2.0]])
    with pytest.raises(InputError, match="flat"):
        pruner.survivors([[3.0, 2.0]])
    with pytest.raises(InputError, match="1 ids for 2 scores"):
        pruner.survivors([3.0, 2.0], ["a"])


def test_lists_longer_than_any_calibrated_on_are_refused_unless_told_otherwise():
    pruner = Pruner(as_rule("rank"), -2.0, longest=3)
    assert pruner.keep([3.0, 2.0, 1.0]) == 2
    with pytest.raises(InputError, match="at most 3"):
        pruner.keep([4.0, 3.0, 2.0, 1.0])
    assert pruner.keep([4.0, 3.0, 2.0, 1.0], any_length=True) == 2
    assert pruner.survivors([1.0, 2.0, 3.0, 4.0], any_length=True).tolist() == [3, 2]


def test_lists_shorter_than_any_calibrated_on_are_refused_where_keys_depend_on_the_list():
    normalising = Pruner(as_rule("softmax"), -50.0, shortest=3)
    with pytest.raises(InputError, match="shortest one in calibration had 3"):
        normalising.keep([2.0, 1.0])
    assert normalising.keep([2.0, 1.0], any_length=True) == 2
    assert Pruner(as_rule("score"), 0.0, shortest=3).keep([2.0, 1.0]) == 2


def test_a_short_list_is_refused_in_a_batch_that_also_holds_an_empty_one():
    normalising = Pruner(as_rule("softmax"), -50.0, shortest=3)
    with pytest.raises(InputError, match="shortest one in calibration had 3"):
        normalising.keep([2.0, 1.0], offsets=[0, 0, 2])
