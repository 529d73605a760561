"""Runs and judgements out, as TREC files."""

import bz2
import gzip
import io
from pathlib import Path

import polars as pl

from surecut.candidates import Candidates
from surecut.errors import InputError
from surecut.files import write_atomically
from surecut.io.table import judgements, to_frame


def run_as_trec(run: pl.DataFrame, tag: str = "surecut") -> bytes:
    """TREC lines 'query Q0 document rank score tag' of a frame query_id doc_id rank score."""
    for column in ("query_id", "doc_id"):
        spaced = run[column].filter(run[column].str.contains(r"\s"))
        if spaced.len():
            raise InputError(f"a TREC run cannot hold the id {spaced[0]!r}: there is a space in it")
    columns = ("query_id", pl.lit("Q0").alias("Q0"), "doc_id", "rank", "score", pl.lit(tag).alias("tag"))
    return _lines(run.select(columns))


def write_run(run: pl.DataFrame, path: str | Path) -> None:
    """Write TREC lines, compressed if the name ends in .gz or .bz2."""
    ending = Path(path).suffix
    if ending in (".zst", ".zstd", ".xz"):
        raise InputError(f"{path}: runs are written plain, as .gz or as .bz2")
    content = run_as_trec(run)
    if ending == ".gz":
        content = gzip.compress(content, mtime=0)
    elif ending == ".bz2":
        content = bz2.compress(content)
    write_atomically(path, content)


def write_trec(data: Candidates, folder: str | Path) -> None:
    """Candidates as retriever.run, reranker.run and qrels.txt in a folder."""
    root = Path(folder)
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made ({error.strerror})") from None
    frame = to_frame(data)
    for stage in ("retriever", "reranker"):
        if stage in frame.columns:
            rank = pl.col(stage).rank("ordinal", descending=True).over("query_id").alias("rank")
            write_run(frame.select("query_id", "doc_id", rank, pl.col(stage).alias("score")), root / f"{stage}.run")
    judged = judgements(data).select("query_id", pl.lit("0").alias("iteration"), "doc_id", "relevance")
    write_atomically(root / "qrels.txt", _lines(judged))


def _lines(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_csv(buffer, include_header=False, separator=" ", quote_style="never")
    return buffer.getvalue()
