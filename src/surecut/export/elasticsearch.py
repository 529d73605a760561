"""Elasticsearch: `min_score` in the first-stage retriever, `rank_window_size` in the reranking one.

A document with a score below `min_score` is left out, in 32 bits; what lies beyond the window is not returned.
"""

from typing import Any

from surecut.certificate import Certificate
from surecut.export.comments import TIES, about, commented, not_below, shown
from surecut.export.console import request
from surecut.export.cut import Cut
from surecut.export.engine import Engine, Snippet


def write(cut: Cut, certificate: Certificate, metric: str | None) -> Snippet:
    first: dict[str, Any] = {"query": {"match": {"text": "QUERY"}}}
    settings: dict[str, Any] = {"rank_window_size": cut.window}
    if cut.least is not None:
        settings["min_score"] = first["min_score"] = cut.least
    body = {
        "retriever": {
            "text_similarity_reranker": {
                "retriever": {"standard": first},
                "field": "text",
                "inference_id": "RERANKER",
                "inference_text": "QUERY",
                "rank_window_size": cut.window,
            }
        },
        "size": shown(certificate, cut.window),
    }
    note = (
        "Yours to fill in: INDEX, QUERY, RERANKER, the field, the query. "
        f"{not_below('size', certificate, cut.window)} It may be at most rank_window_size."
    )
    text = commented("#", about(certificate, cut, note, TIES)) + request("POST INDEX/_search", body)
    return Snippet(text, {**settings, "body": body})


ELASTICSEARCH = Engine(
    "elasticsearch", "a retriever tree with min_score and rank_window_size", write, gives_negative=False
)
