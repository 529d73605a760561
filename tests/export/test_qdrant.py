"""The export to Qdrant, executed by the client's local engine on a few thousand real texts."""

from types import SimpleNamespace

import numpy as np
import pytest
from qdrant_client import QdrantClient, models

DEPTH = 60


@pytest.fixture(scope="module", params=["cosine", "dot", "euclid"])
def filled(request, vectors):
    distance = {"cosine": "COSINE", "dot": "DOT", "euclid": "EUCLID"}[request.param]
    client = QdrantClient(":memory:")
    client.create_collection(
        "texts",
        vectors_config={
            "FIRST": models.VectorParams(size=48, distance=models.Distance[distance]),
            "SECOND": models.VectorParams(
                size=48,
                distance=models.Distance.DOT,
                multivector_config=models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM),
            ),
        },
    )
    points = [
        models.PointStruct(id=place, vector={"FIRST": row.tolist(), "SECOND": [row.tolist()]})
        for place, row in enumerate(vectors.documents)
    ]
    client.upsert("texts", points)
    assert len(points) > 2000
    yield SimpleNamespace(client=client, metric=request.param)
    client.close()


@pytest.fixture(scope="module")
def found(filled):
    """Names and scores of a question, as the certificate is to know them: distances with a minus sign."""
    sign = -1 if filled.metric == "euclid" else 1

    def search(vector, depth):
        given = {"query": vector.tolist(), "using": "FIRST", "limit": depth}
        points = filled.client.query_points("texts", **given).points
        return [str(point.id) for point in points], [sign * point.score for point in points]

    return search


@pytest.mark.parametrize("rule", ["score", "rank"])
def test_the_points_that_come_back_are_the_survivors(rule, filled, found, vectors, calibrated):
    certificate, first = calibrated(found, DEPTH, rule=rule, min_keep=0 if rule == "score" else 1)
    body = certificate.export("qdrant", metric=filled.metric, shards=1).settings["body"]
    plain = certificate.export("qdrant-query", metric=filled.metric).settings["body"]
    sizes = []
    for name, vector in zip(vectors.asked, vectors.questions, strict=True):
        listed = first[name]
        survivors = {list(listed)[place] for place in certificate.survivors(list(listed.values()), list(listed))}
        given = {**body["prefetch"], "query": vector.tolist()}
        whole = {**body, "prefetch": models.Prefetch(**given), "query": [vector.tolist()], "limit": 10 * DEPTH}
        reranked = {str(point.id) for point in filled.client.query_points("texts", **whole).points}
        query = {**plain, "query": vector.tolist()}
        alone = {str(point.id) for point in filled.client.query_points("texts", **query).points}
        assert reranked == alone
        sizes.append(len(alone))
        assert len(alone) == len(survivors)
        assert alone == survivors or _tied_at_the_border(listed, survivors)
    assert np.mean(sizes) == pytest.approx(certificate.mean_kept)
    assert rule == "rank" or len(set(sizes)) > 5


def _tied_at_the_border(listed, survivors):
    """Documents with the same score on both sides of a rank cut: which of them survives is the engine's order."""
    inside = {np.float32(listed[name]) for name in survivors}
    return bool(inside & {np.float32(score) for name, score in listed.items() if name not in survivors})
