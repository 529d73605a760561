"""The pruned pipeline against pruning, reranking and fusing by hand from the score table."""

from dataclasses import replace

import numpy as np
import pytest

import surecut as sc
from surecut import InputError, Ranker
from surecut.system.collection import Queries
from surecut.system.recipe import read_recipe
from tests.system.making import WORDS, write_beir, write_lines


@pytest.fixture(scope="module")
def certificate(scored):
    made = sc.calibrate(scored.data, target=sc.max_drop(0.1), fusion="fit")
    assert made.certified
    assert made.mean_kept < 20
    return made


@pytest.fixture(scope="module")
def texts(scored):
    """Text of each query, and of each document."""
    collection = read_recipe(scored.recipe).collection
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SURECUT_CACHE", str(scored.folder.parent / "cache"))
        documents = collection.documents
    asked = dict(zip(collection.queries.ids, collection.queries.texts, strict=True))
    return asked, dict(zip(documents.ids.series(), documents.texts.take(range(300)), strict=True))


def by_hand(data, query, certificate):
    """(doc, retriever, reranker, final) of a query's survivors, best first, and its pruned documents as retrieved."""
    rows = slice(data.offsets[query], data.offsets[query + 1])
    first, second, docs = data.retriever[rows], data.reranker[rows], data.doc_ids[rows].to_list()
    kept = certificate.keep(first) if first.size >= certificate.calibration["shortest_list"] else first.size
    beta = certificate.fusion["beta"]
    final = beta * first.astype(np.float64) + (1 - beta) * second
    order = sorted(range(kept), key=lambda place: (-final[place], place))
    survivors = [(docs[place], first[place], second[place], final[place]) for place in order]
    return survivors, list(zip(docs[kept:], first[kept:], strict=True))


def test_a_ranking_is_what_the_table_gives_by_hand(scored, certificate, texts):
    ranker = Ranker(certificate, scored.recipe)
    asked, read = texts
    sizes = set()
    for query in range(0, 80, 3):
        ranking = ranker.rank(asked[scored.data.query_ids[query]])
        survivors, pruned = by_hand(scored.data, query, certificate)
        sizes.add(ranking.kept)
        assert (ranking.kept, ranking.candidates) == (len(survivors), len(survivors) + len(pruned))
        found = [(each.doc_id, each.retriever, each.reranker, each.score) for each in ranking.documents]
        assert [each[0] for each in found] == [each[0] for each in survivors]
        assert [each[1] for each in found] == [each[1] for each in survivors]
        assert np.array([each[2:] for each in found]) == pytest.approx(
            np.array([each[2:] for each in survivors]), rel=1e-5, abs=1e-5
        )
        assert [each.text for each in ranking.documents] == [read[each.doc_id] for each in ranking.documents]
        assert set(ranking.seconds) == {"retrieve", "prune", "rerank"}
    assert len(sizes) > 3


def test_only_survivors_are_reranked(scored, certificate, texts):
    ranker = Ranker(certificate, scored.recipe)
    seen = []
    plain = ranker.recipe.reranker.rerank
    ranker.recipe.reranker.rerank = lambda queries, hits, documents: (
        seen.append(hits[0].documents.size),
        plain(queries, hits, documents),
    )[1]
    ranking = ranker.rank(texts[0]["q1"])
    assert seen == [ranking.kept]
    assert ranking.kept < ranking.candidates


def test_an_appended_tail_follows_in_retriever_order(scored, certificate, texts):
    appended = replace(certificate, tail="append")
    ranking = Ranker(appended, scored.recipe).rank(texts[0]["q1"])
    survivors, pruned = by_hand(scored.data, scored.data.query_ids.tolist().index("q1"), certificate)
    assert [each.doc_id for each in ranking.documents] == [each[0] for each in (*survivors, *pruned)]
    rest = ranking.documents[ranking.kept :]
    assert len(rest) == len(pruned) > 0
    assert all(each.reranker is None and each.score is None for each in rest)


def test_the_best_k_are_the_first_of_the_list(scored, certificate, texts):
    ranker = Ranker(certificate, scored.recipe)
    whole, best = ranker.rank(texts[0]["q1"]), ranker.rank(texts[0]["q1"], 2)
    assert best.documents == whole.documents[:2]
    assert best.kept == whole.kept


def test_paths_will_do(scored, certificate, texts, tmp_path):
    certificate.save(tmp_path / "cert.json")
    by_path = Ranker(tmp_path / "cert.json", str(scored.recipe)).rank(texts[0]["q1"])
    assert by_path.documents == Ranker(certificate, read_recipe(scored.recipe)).rank(texts[0]["q1"]).documents


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"threshold": -np.inf}, "the certificate (certified) prunes nothing"),
        ({"threshold": -1e9}, "every candidate reaches the threshold"),
        ({"threshold": np.inf}, "at least 1 are always kept"),
        ({"threshold": np.inf, "min_keep": 4}, "at least 4 are always kept"),
        ({"max_keep": 2}, "at most 2 are ever kept"),
        ({}, "and the threshold is"),
    ],
)
def test_the_reason_is_the_one_that_decided(scored, certificate, texts, changes, said):
    ranking = Ranker(replace(certificate, **changes), scored.recipe).rank(texts[0]["q1"])
    assert said in ranking.why


def test_the_reason_names_the_keys_on_both_sides_of_the_threshold(scored, certificate, texts):
    ranker = Ranker(certificate, scored.recipe)
    ranking = ranker.rank(texts[0]["q1"])
    (hits,) = ranker.retrieve(Queries(["q"], [texts[0]["q1"]]))
    keys = certificate.pruner.keys(hits.scores)
    assert keys[ranking.kept - 1] >= certificate.threshold > keys[ranking.kept]
    assert (
        f"{keys[ranking.kept - 1]:.4g}, that of candidate {ranking.kept + 1} is {keys[ranking.kept]:.4g}" in ranking.why
    )


def test_nothing_is_pruned_from_a_list_shorter_than_any_calibrated(scored, certificate):
    ranker = Ranker(certificate, scored.recipe)
    ranking = ranker.rank(WORDS[-1])
    assert 0 < ranking.candidates < certificate.calibration["shortest_list"]
    assert ranking.kept == ranking.candidates == len(ranking.documents)
    assert "nothing is pruned from a list the certificate knows nothing of" in ranking.why


def test_a_query_that_finds_nothing_gives_an_empty_list(scored, certificate):
    ranking = Ranker(certificate, scored.recipe).rank("xyzzy")
    assert (ranking.documents, ranking.candidates, ranking.kept) == ([], 0, 0)
    assert ranking.why == "nothing was retrieved"


@pytest.mark.parametrize(
    ("query", "said"), [("", "has no text"), (" \n", "has no text"), ("balak \udcff", "is not UTF-8")]
)
def test_a_query_that_is_no_text_is_refused(scored, certificate, query, said):
    with pytest.raises(InputError, match=f"the query {said}"):
        Ranker(certificate, scored.recipe).rank(query)


@pytest.mark.parametrize(
    ("stage", "section"),
    [
        ("reranker", {"reranker": 'kind = "cross-encoder"\nmodel = "{other_cross}"'}),
        ("retriever", {"retriever": 'kind = "bm25"\nk1 = 1.2'}),
    ],
)
def test_another_system_is_refused_unless_allowed(recipe, models, certificate, stage, section):
    path = recipe(**{name: each.format(**vars(models)) for name, each in section.items()})
    with pytest.raises(InputError, match=rf"the {stage} of this data is not the certificate's .*--any-system"):
        Ranker(certificate, path)
    assert Ranker(certificate, path, any_system=True).rank("balak").candidates > 0


def test_a_recipe_that_retrieves_too_few_is_refused(recipe, certificate):
    with pytest.raises(
        InputError, match=r"retrieves 49 candidates, the certificate is about lists of.* 50: set depth = 50"
    ):
        Ranker(certificate, recipe(depth=49))


def test_a_deeper_recipe_is_cut_where_the_certificate_ends(recipe, scored, certificate, texts):
    deep, plain = Ranker(certificate, recipe(depth=200)), Ranker(certificate, scored.recipe)
    assert deep.rank(texts[0]["q1"]).documents == plain.rank(texts[0]["q1"]).documents


def test_a_certificate_holds_for_the_same_system_on_other_documents(recipe, certificate, tmp_path):
    write_beir(tmp_path / "other", documents=400, seed=9)
    assert Ranker(certificate, recipe(collection='beir = "other"')).rank("balak dalan").candidates == 50


def test_a_run_cannot_answer_a_new_query(recipe, certificate, scored, tmp_path):
    (tmp_path / "first.run").write_text("q1 Q0 d1 1 2.0 t\n")
    ranker = Ranker(certificate, recipe(retriever='kind = "run"\nrun = "first.run"'), any_system=True)
    with pytest.raises(InputError, match="a run file knows no new query"):
        ranker.rank("balak")


def test_collections_without_queries_of_their_own_can_be_searched(recipe, certificate, tmp_path):
    write_lines(tmp_path / "d.jsonl", [{"_id": f"d{number}", "text": "balak dalan"} for number in range(60)])
    ranker = Ranker(certificate, recipe(collection='documents = "d.jsonl"\nqueries = "unused.jsonl"'))
    assert ranker.rank("balak").documents[0].text == "balak dalan"


def test_other_documents_are_warned_of_not_refused(scored, certificate, recipe, tmp_path):
    assert Ranker(certificate, scored.recipe).notes == []
    (note,) = Ranker(replace(certificate, system={}), scored.recipe).notes
    assert "does not say which retriever and reranker" in note
    write_beir(tmp_path / "data", queries=5, documents=20)
    (note,) = Ranker(certificate, recipe(collection='beir = "data"')).notes
    assert "not those the certificate was calibrated on" in note


@pytest.mark.parametrize("query", [None, 5, ["a"], " "])
def test_what_is_no_query_is_refused(scored, certificate, query):
    with pytest.raises(InputError, match="the query has no text"):
        Ranker(certificate, scored.recipe).rank(query)


@pytest.mark.parametrize("k", [0, 2.5])
def test_what_is_no_number_of_documents_is_refused(scored, certificate, k):
    with pytest.raises(InputError, match="a whole number of at least 1 is expected"):
        Ranker(certificate, scored.recipe).rank("balak", k)
