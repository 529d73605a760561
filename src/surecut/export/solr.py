"""Solr: `reRankDocs` of a rerank query, and a function range over the score of the main query.

Documents beyond `reRankDocs` follow the reranked ones in their order. Each shard has a window of its own. The range
includes its lower bound, in 32 bits.
"""

import re
from typing import Any
from xml.sax.saxutils import escape

from surecut.certificate import Certificate
from surecut.export.comments import TIES, about, not_below, shown
from surecut.export.cut import Cut
from surecut.export.engine import Engine, Snippet


def write(cut: Cut, certificate: Certificate, metric: str | None) -> Snippet:
    rerank = f"{{!rerank reRankQuery=$rqq reRankDocs={cut.window} reRankWeight=1 reRankOperator=replace}}"
    settings: dict[str, Any] = {"rq": rerank}
    parts = _part("defaults", "rows", str(shown(certificate, cut.depth))) + _part("invariants", "rq", rerank)
    note = (
        "Yours to fill in: rqq, the query that scores as the reranker does, and which must match every document; for a "
        "model of the LTR module write rq as {!ltr model=MODEL reRankDocs=...}. The collection must have one shard. "
        f"{not_below('rows', certificate, cut.depth)}"
    )
    if cut.least is not None:
        settings["fq"] = f"{{!frange l={cut.least!r} cache=false}}query($q)"
        parts += _part("appends", "fq", settings["fq"])
        note += " q is scored once more for the cut, so its parser must stand in it ({!edismax ...}), not in defType."
    comment = "\n".join(f"  {line}" for line in about(certificate, cut, note, TIES))
    comment = re.sub("-(?=-)", "- ", comment)  # two hyphens in a row are no XML comment
    text = f"""\
<!--
{comment}
-->
<requestHandler name="/surecut" class="solr.SearchHandler">
{parts}</requestHandler>
"""
    return Snippet(text, {**settings, "reRankDocs": cut.window})


def _part(kind: str, name: str, value: str) -> str:
    """Defaults stand where a request says nothing, invariants replace what it says, appends add to it."""
    return f'  <lst name="{kind}">\n    <str name="{name}">{escape(value)}</str>\n  </lst>\n'


SOLR = Engine(
    "solr",
    "a request handler with reRankDocs, on one shard",
    write,
    beyond="append",
    window_per_shard=True,
    gives_negative=False,
)
