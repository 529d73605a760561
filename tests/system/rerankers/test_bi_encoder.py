"""A bi-encoder as second stage: inner products that depend on nobody else."""

import numpy as np
import pytest

from surecut import InputError
from surecut.system.rerankers import BiEncoderReranker
from surecut.system.topk import Hits


@pytest.fixture
def reranker(models, collection):
    made = BiEncoderReranker(str(models.bi), pooling="mean", normalise=True)
    made.prepare(collection.documents)
    made.load(collection.documents)
    return made


@pytest.fixture
def hits(collection):
    draw = np.random.default_rng(1)
    sizes = draw.integers(0, 40, size=len(collection.queries))
    return [Hits(draw.permutation(300)[:size], np.zeros(size, np.float32)) for size in sizes]


def test_scores_are_inner_products(reranker, collection, hits):
    queries = reranker.queries(collection.queries.texts)
    documents = reranker.documents(collection.documents.texts.take(range(300)))
    scores = reranker.rerank(collection.queries, hits, collection.documents)
    for query, each, found in zip(queries, hits, scores, strict=True):
        assert found == pytest.approx(documents[each.documents] @ query, rel=1e-4, abs=1e-5)
        assert found.dtype == np.float64


def test_a_score_depends_on_no_order_and_no_company(reranker, collection, hits):
    together = reranker.rerank(collection.queries, hits, collection.documents)
    backwards = [Hits(each.documents[::-1], each.scores) for each in hits]
    turned = reranker.rerank(collection.queries, backwards, collection.documents)
    assert all(one.tobytes() == other[::-1].tobytes() for one, other in zip(together, turned, strict=True))
    for place in range(0, 80, 9):
        (alone,) = reranker.rerank(collection.queries[place : place + 1], hits[place : place + 1], collection.documents)
        assert alone.tobytes() == together[place].tobytes()


def test_the_fingerprint_knows_the_encoder_and_is_not_the_retrievers(models):
    from surecut.system.retrievers import Dense

    kinds = [
        BiEncoderReranker(str(models.bi), pooling="mean"),
        BiEncoderReranker(str(models.bi), pooling="cls"),
        Dense(str(models.bi), pooling="mean"),
    ]
    assert len({each.fingerprint for each in kinds}) == 3


def test_a_classifier_is_no_encoder(models, collection):
    encoder = BiEncoderReranker(str(models.cross), pooling="cls")
    with pytest.raises(InputError, match="gives 1 numbers a text; this is a classifier, not an encoder"):
        encoder.prepare(collection.documents)
