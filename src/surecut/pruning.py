"""A whole run through a certificate: the survivors, in retriever order."""

import numpy as np
import polars as pl

from surecut.certificate import Certificate
from surecut.listing import grouped, in_retriever_order, refuse_repeated


def prune_run(
    certificate: Certificate,
    run: pl.DataFrame,
    *,
    depth: int | None = None,
    any_length: bool = False,
    any_system: bool = False,
) -> pl.DataFrame:
    """The rows of a run (query_id doc_id score) that survive, with their rank."""
    listed, scores = in_retriever_order(grouped(run), depth)
    refuse_repeated(listed)
    kept = certificate.keep(scores, offsets=listed.offsets, any_length=any_length, any_system=any_system)
    lengths = np.diff(listed.offsets)
    rank = np.arange(scores.size) - np.repeat(listed.offsets[:-1], lengths) + 1
    queries = pl.Series("query_id", listed.queries, dtype=pl.String).gather(np.repeat(np.arange(lengths.size), lengths))
    survives = pl.Series(rank <= np.repeat(kept, lengths))
    return listed.frame.with_columns(queries, pl.Series("rank", rank)).filter(survives)
