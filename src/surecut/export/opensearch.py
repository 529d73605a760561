"""OpenSearch: `min_score` and `size` before the rerank processor, or `min_score` and the `window_size` of a rescore.

The processor reranks all hits of a response, so `size` is the window, over all shards. A rescore has a window on every
shard, and sorts hits beyond it among the others, so `size` stays within it.
"""

from typing import Any

from surecut.certificate import Certificate
from surecut.export.comments import TIES, about, commented, not_below, shown
from surecut.export.console import request
from surecut.export.cut import Cut
from surecut.export.engine import Engine, Snippet

_QUERY = {"match": {"text": "QUERY"}}


def write(cut: Cut, certificate: Certificate, metric: str | None) -> Snippet:
    pipeline = {
        "description": f"surecut certificate {certificate.digest}",
        "response_processors": [
            {"rerank": {"ml_opensearch": {"model_id": "MODEL"}, "context": {"document_fields": ["text"]}}}
        ],
    }
    limits = _limits(cut) | {"size": cut.window}
    body = {**limits, "query": _QUERY, "ext": {"rerank": {"query_context": {"query_text": "QUERY"}}}}
    note = "Yours to fill in: INDEX, QUERY, MODEL, the field, the query. All hits are reranked: size is part of it."
    text = (
        commented("#", about(certificate, cut, note, TIES))
        + request("PUT _search/pipeline/surecut", pipeline)
        + "\n"
        + request("POST INDEX/_search?search_pipeline=surecut", body)
    )
    return Snippet(text, {**limits, "pipeline": pipeline, "body": body})


def write_rescore(cut: Cut, certificate: Certificate, metric: str | None) -> Snippet:
    rescore = {
        "window_size": cut.window,
        "query": {"rescore_query": {"match_all": {}}, "query_weight": 0, "rescore_query_weight": 1},
    }
    limits = _limits(cut)
    body = {**limits, "size": shown(certificate, cut.window), "query": _QUERY, "rescore": rescore}
    note = (
        "Yours to fill in: INDEX, QUERY, the field, both queries; rescore_query must match every document. "
        f"{not_below('size', certificate, cut.window)} It may be at most window_size. The index must have one shard."
    )
    text = commented("#", about(certificate, cut, note, TIES)) + request("POST INDEX/_search", body)
    return Snippet(text, {**limits, "window_size": cut.window, "body": body})


def _limits(cut: Cut) -> dict[str, Any]:
    return {} if cut.least is None else {"min_score": cut.least}


OPENSEARCH = Engine(
    "opensearch", "a search pipeline with the rerank processor; min_score and size", write, gives_negative=False
)
OPENSEARCH_RESCORE = Engine(
    "opensearch-rescore",
    "a rescore with min_score and window_size, on one shard",
    write_rescore,
    window_per_shard=True,
    gives_negative=False,
)
