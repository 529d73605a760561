"""Qdrant: `score_threshold` and `limit` of the prefetch, or of a plain query.

A query over a prefetch reranks on every shard what was found there, so its window is the certified one with one shard;
a plain query, for a reranker outside of Qdrant, merges what the shards found. Only points strictly beyond
`score_threshold` are kept, in 32 bits: higher scores, or shorter distances with a metric of distances, where the
certificate's scores are those distances with a minus sign.
"""

from typing import Any

from surecut.certificate import Certificate
from surecut.export.comments import TIES, about, commented, not_below, shown
from surecut.export.console import request
from surecut.export.cut import Cut, above, below
from surecut.export.engine import Engine, Snippet


def write(cut: Cut, certificate: Certificate, metric: str | None) -> Snippet:
    first = _first_stage(cut, metric)
    body = {
        "prefetch": first,
        "query": [[0.1, 0.2, 0.3]],
        "using": "SECOND",
        "limit": shown(certificate, cut.window),
    }
    note = f"The collection must have one shard. {not_below('The last limit', certificate, cut.window)}"
    return _snippet(cut, certificate, first, body, note)


def write_query(cut: Cut, certificate: Certificate, metric: str | None) -> Snippet:
    first = _first_stage(cut, metric)
    return _snippet(cut, certificate, first, first, "Rerank all that comes back.")


def _first_stage(cut: Cut, metric: str | None) -> dict[str, Any]:
    limits: dict[str, Any] = {"limit": cut.window}
    if cut.least is not None:
        limits["score_threshold"] = _threshold(cut.least, metric)
    return {"query": [0.1, 0.2, 0.3], "using": "FIRST", **limits}


def _snippet(cut: Cut, certificate: Certificate, first: dict[str, Any], body: dict[str, Any], note: str) -> Snippet:
    fill_in = (
        f"Yours to fill in: COLLECTION, the vectors and their names. {note} An approximate index must search as deep "
        f"as in calibration: hnsw_ef as it was there, with a limit of {cut.depth:,}."
    )
    text = commented("//", about(certificate, cut, fill_in, TIES)) + request(
        "POST collections/COLLECTION/points/query", body
    )
    limits = {name: value for name, value in first.items() if name in ("limit", "score_threshold")}
    return Snippet(text, {**limits, "body": body})


def _threshold(least: float, metric: str | None) -> float:
    """Scores above it are kept; with distances, which are scores with a minus sign, those below it."""
    return above(-least) if metric == "euclid" else below(least)


QDRANT = Engine(
    "qdrant",
    "a prefetch with score_threshold and limit, on one shard",
    write,
    window_per_shard=True,
    metric="for scores",
)
QDRANT_QUERY = Engine(
    "qdrant-query",
    "a query with score_threshold and limit, for a reranker outside of Qdrant",
    write_query,
    metric="for scores",
)
