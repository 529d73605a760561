"""A whole run through a certificate: the survivors, in retriever order."""

import numpy as np
import polars as pl

from surecut.alignment import in_retriever_order, refuse_repeated
from surecut.certificate import Certificate


def prune_run(
    certificate: Certificate, run: pl.DataFrame, *, depth: int | None = None, any_length: bool = False
) -> pl.DataFrame:
    """The rows of a run (query_id doc_id score) that survive, with their rank."""
    listed, scores = in_retriever_order(run, depth)
    refuse_repeated(listed)
    kept = certificate.keep(scores, offsets=listed.offsets, any_length=any_length)
    rank = np.arange(scores.size) - np.repeat(listed.offsets[:-1], np.diff(listed.offsets)) + 1
    survives = rank <= np.repeat(kept, np.diff(listed.offsets))
    return listed.frame.with_columns(pl.Series("rank", rank)).filter(pl.Series(survives))
