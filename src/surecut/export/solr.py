"""Solr: `reRankDocs` of a rerank query, and a function range over the score of the main query.

Documents beyond `reRankDocs` follow the reranked ones in their order. Each shard has a window of its own. The range
includes its lower bound, in 32 bits.
"""

from typing import Any
from xml.sax.saxutils import escape

from surecut.certificate import Certificate
from surecut.export.comments import TIES, about
from surecut.export.cut import Cut
from surecut.export.engine import Engine, Snippet


def write(cut: Cut, certificate: Certificate, metric: str | None) -> Snippet:
    settings: dict[str, Any] = {
        "rq": f"{{!rerank reRankQuery=$rqq reRankDocs={cut.window} reRankWeight=1 reRankOperator=replace}}"
    }
    if cut.least is not None:
        settings["fq"] = f"{{!frange l={cut.least!r} cache=false}}query($q)"
    note = (
        "Yours to fill in: rqq, the query that scores as the reranker does, and which must match every document; for a "
        "model of the LTR module write rq as {!ltr model=MODEL reRankDocs=...}. The collection must have one shard."
    )
    # two hyphens would end an XML comment
    comment = "\n".join(f"  {line}" for line in about(certificate, cut, note, TIES)).replace("--", "- -")
    parameters = "".join(f'    <str name="{name}">{escape(value)}</str>\n' for name, value in settings.items())
    text = f"""\
<!--
{comment}
-->
<requestHandler name="/surecut" class="solr.SearchHandler">
  <lst name="invariants">
{parameters}  </lst>
</requestHandler>
"""
    return Snippet(text, {**settings, "reRankDocs": cut.window})


SOLR = Engine("solr", "a request handler with reRankDocs, on one shard", write, beyond="append", window_per_shard=True)
