"""Vespa: a rank profile whose first phase drops by score and whose global phase reranks a window.

`rank-score-drop-limit` drops hits with a score less than or equal to it, in 64 bits. The `rerank-count` of the global
phase counts over all content nodes (that of a second phase counts on each), and hits that are not reranked are put
below those that are.
"""

from typing import Any

import numpy as np

from surecut.certificate import Certificate
from surecut.export.comments import TIES, about, commented, not_below
from surecut.export.cut import Cut, below_in_double
from surecut.export.engine import Engine, Snippet


def write(cut: Cut, certificate: Certificate, metric: str | None) -> Snippet:
    note = (
        "Yours to fill in: both expressions. In a second-phase, rerank-count would count on every content node. "
        f"{not_below('hits of a query', certificate, cut.depth)}"
    )
    settings: dict[str, Any] = {"rerank-count": cut.window}
    limit = ""
    if cut.least is not None:
        settings["rank-score-drop-limit"] = below_in_double(cut.least)
        limit = f"\n        rank-score-drop-limit: {_decimal(settings['rank-score-drop-limit'])}"
    text = f"""\
rank-profile surecut {{
    first-phase {{
        expression: bm25(text){limit}
    }}
    global-phase {{
        expression: onnx(cross_encoder){{d0:0,d1:0}}
        rerank-count: {cut.window}
    }}
}}
"""
    return Snippet(commented("#", about(certificate, cut, note, TIES)) + text, settings)


def _decimal(limit: float) -> str:
    """All digits, without an exponent, which a schema does not take."""
    return np.format_float_positional(limit, unique=True, trim="0")


VESPA = Engine("vespa", "a rank profile with rank-score-drop-limit and rerank-count", write, beyond="append")
