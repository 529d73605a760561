"""Dense retrieval against all inner products, in one slice or many, in a graph or exactly."""

import numpy as np
import pytest

from surecut import InputError
from surecut.system.collection import Queries
from surecut.system.retrievers import Dense, ready
from surecut.system.vectors import document_vectors
from tests.system.making import bi_encoder, store


@pytest.fixture
def dense(models):
    return lambda **options: Dense(str(models.bi), **{"pooling": "mean", **options})


def all_products(retriever, collection):
    vectors = np.asarray(document_vectors(retriever, collection.documents).rows)
    return retriever.queries(collection.queries.texts) @ vectors.T


@pytest.mark.parametrize("normalise", [True, False])
def test_exact_search_is_brute_force(dense, collection, normalise):
    retriever = dense(normalise=normalise)
    ready(retriever, collection.documents)
    products = all_products(retriever, collection)
    for row, hits in zip(products, retriever.search(collection.queries, 17), strict=True):
        assert hits.scores == pytest.approx(np.sort(row)[::-1][:17], rel=1e-5)
        assert hits.scores == pytest.approx(row[hits.documents], rel=1e-5)


def test_slices_give_what_the_whole_gives(dense, collection, monkeypatch):
    retriever = dense()
    ready(retriever, collection.documents)
    whole = retriever.search(collection.queries, 17)
    for rows in (300, 128, 10):
        monkeypatch.setattr("surecut.system.retrievers.dense._ROWS", rows)
        for one, other in zip(whole, retriever.search(collection.queries, 17), strict=True):
            assert one.scores == pytest.approx(other.scores, rel=1e-6)
            inside = one.scores > one.scores[-1] * (1 + 1e-5)
            assert one.documents[inside].tolist() == other.documents[inside].tolist()


def test_a_depth_beyond_the_collection_returns_it_all(dense, collection):
    for search_by in ("exact", "hnsw"):
        retriever = dense(search_by=search_by)
        ready(retriever, collection.documents)
        (hits,) = retriever.search(collection.queries[:1], 1000)
        assert hits.documents.size == len(set(hits.documents.tolist())) > 290


def test_equal_texts_are_ordered_by_id_also_at_the_cut_off(dense, tmp_path):
    documents = store(tmp_path / "store", [(f"d{number}", "balak dalan") for number in range(40)] + [("e", "fenok")])
    retriever = dense()
    ready(retriever, documents)
    (hits,) = retriever.search(Queries(["q"], ["balak dalan"]), 5)
    assert documents.ids.take(hits.documents) == sorted((f"d{number}" for number in range(40)), reverse=True)[:5]


def test_a_graph_finds_nearly_the_same(dense, collection):
    exact, graph = dense(), dense(search_by="hnsw", ef_search=64)
    for retriever in (exact, graph):
        ready(retriever, collection.documents)
    found = zip(exact.search(collection.queries, 20), graph.search(collection.queries, 20), strict=True)
    shares = [len(set(one.documents) & set(other.documents)) / 20 for one, other in found]
    assert np.mean(shares) > 0.95


def test_a_graph_built_again_is_the_same(dense, collection, tmp_path):
    built = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        retriever = dense(search_by="hnsw")
        retriever.prepare(collection.documents)
        retriever.index(collection.documents, folder)
        built.append((folder / "hnsw.faiss").read_bytes())
    assert built[0] == built[1]


def test_a_graph_refuses_a_depth_beyond_its_search(dense, collection):
    retriever = dense(search_by="hnsw", ef_search=10)
    ready(retriever, collection.documents)
    with pytest.raises(InputError, match="ef_search = 10 must be at least the depth, 11"):
        retriever.search(collection.queries, 11)


def test_a_query_alone_scores_as_it_does_in_company(dense, collection):
    retriever = dense()
    ready(retriever, collection.documents)
    together = retriever.search(collection.queries, 20)
    for place in (0, 7, 30):
        (alone,) = retriever.search(collection.queries[place : place + 1], 20)
        assert alone.scores == pytest.approx(together[place].scores, rel=1e-5)


def test_the_fingerprint_knows_what_scores_depend_on(dense, models, tmp_path):
    other = bi_encoder(tmp_path / "other", seed=9)
    kinds = [
        dense(),
        dense(pooling="cls"),
        dense(normalise=True),
        dense(query_prefix="query: "),
        dense(document_prefix="passage: "),
        dense(max_length=20),
        dense(query_model=str(other)),
        dense(search_by="hnsw"),
        dense(search_by="hnsw", ef_search=100),
        Dense(str(other), pooling="mean"),
    ]
    assert len({each.fingerprint for each in kinds}) == len(kinds)
    assert dense(batch_size=3).fingerprint == dense().fingerprint


def test_queries_may_have_an_encoder_and_a_prefix_of_their_own(dense, models, tmp_path):
    other = str(bi_encoder(tmp_path / "other", seed=9))
    mixed = dense(query_model=other, query_prefix="balak ", document_prefix="dalan ")
    assert mixed.queries(["fenok"]).tobytes() == Dense(other, pooling="mean").queries(["balak fenok"]).tobytes()
    assert mixed.documents(["fenok"]).tobytes() == dense().documents(["dalan fenok"]).tobytes()


@pytest.mark.parametrize("options", [{"neighbours": 1}, {"ef_construction": 0}, {"ef_search": -1}])
def test_a_graph_that_cannot_be_built_is_refused(dense, options):
    with pytest.raises(InputError, match="HNSW needs"):
        dense(search_by="hnsw", **options)


def test_a_batch_of_nothing_is_refused(dense):
    with pytest.raises(InputError, match="batch_size = 0: at least 1 is expected"):
        dense(batch_size=0)
