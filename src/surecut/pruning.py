"""A whole run through a certificate: the survivors, in retriever order."""

import gzip
import io
from pathlib import Path

import numpy as np
import polars as pl

from surecut.alignment import in_retriever_order, refuse_repeated
from surecut.certificate import Certificate, write_atomically


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


def run_as_trec(run: pl.DataFrame, tag: str = "surecut") -> bytes:
    """TREC lines: query Q0 document rank score tag."""
    buffer = io.BytesIO()
    columns = ("query_id", pl.lit("Q0").alias("Q0"), "doc_id", "rank", "score", pl.lit(tag).alias("tag"))
    run.select(columns).write_csv(buffer, include_header=False, separator=" ", quote_style="never")
    return buffer.getvalue()


def write_run(run: pl.DataFrame, path: str | Path) -> None:
    """Write TREC lines, compressed if the name ends in .gz."""
    content = run_as_trec(run)
    write_atomically(path, gzip.compress(content, mtime=0) if str(path).endswith(".gz") else content)
