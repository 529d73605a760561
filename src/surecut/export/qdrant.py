"""Qdrant: `score_threshold` and `limit` of the prefetch.

Only points strictly beyond `score_threshold` are kept, in 32 bits: higher scores, or shorter distances with a metric
of distances, where the certificate's scores are those distances with a minus sign.
"""

from typing import Any

from surecut.certificate import Certificate
from surecut.export.comments import TIES, about, commented
from surecut.export.console import SHOWN, request
from surecut.export.cut import Cut, above, below
from surecut.export.engine import Engine, Snippet


def write(cut: Cut, certificate: Certificate, metric: str | None) -> Snippet:
    settings: dict[str, Any] = {"limit": cut.window}
    if cut.least is not None:
        settings["score_threshold"] = _threshold(cut.least, metric)
    body = {
        "prefetch": {"query": [0.1, 0.2, 0.3], "using": "FIRST", **settings},
        "query": [[0.1, 0.2, 0.3]],
        "using": "SECOND",
        "limit": min(SHOWN, cut.window),
    }
    note = (
        "Yours to fill in: COLLECTION, the vectors and their names. For a reranker outside of Qdrant, ask for the "
        "prefetch alone, with the same score_threshold and limit. An approximate index must search as deep as in "
        f"calibration: hnsw_ef as it was there, with a limit of {cut.depth:,}."
    )
    text = commented("//", about(certificate, cut, note, TIES)) + request(
        "POST collections/COLLECTION/points/query", body
    )
    return Snippet(text, {**settings, "body": body})


def _threshold(least: float, metric: str | None) -> float:
    """Scores above it are kept; with distances, which are scores with a minus sign, those below it."""
    return above(-least) if metric == "euclid" else below(least)


QDRANT = Engine("qdrant", "a prefetch with score_threshold and limit", write, metric="for scores")
