"""The files of a score table: which queries each of them holds, from the few columns that tell."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from surecut.arrays import Bool, Int64
from surecut.candidates import counts_by_query, offsets_of
from surecut.errors import InputError
from surecut.frames import as_polars, groups_of
from surecut.io.parquet import collected, naming, refuse_endless_texts, scan_parquet, text_bytes
from surecut.io.pieces import Piece, refuse_changed, stamp_of
from surecut.judgements import refuse_odd_grades
from surecut.listing import as_numbers

COLUMNS = ("query_id", "doc_id", "retriever", "reranker", "relevance", "group")
ROWS = 1_000_000
"""About as many rows are in memory at a time, for each thread that reads."""

_SLICE = 4 * ROWS  # of the column of query ids


@dataclass(frozen=True, eq=False)
class Part:
    """A file of a score table, and its queries in the order in which it is read."""

    path: Path
    stamp: tuple[int, int]
    columns: tuple[str, ...]
    queries: pl.Series
    lengths: Int64
    together: bool  # do the rows of each query lie together?
    judged: Bool  # by a column of grades
    relevant: Bool
    negative: int
    groups: Mapping[str, str]

    def pieces(self) -> Iterator[Piece]:
        """Whole queries of about as many rows as are to be in memory at a time."""
        ends = np.cumsum(self.lengths)
        first = row = 0
        while first < len(self.queries):
            beyond = len(self.queries)
            if self.together:
                beyond = max(first + 1, int(np.searchsorted(ends, row + ROWS, side="right")))
            whole = beyond - first == len(self.queries)
            yield Piece(self.path, self.columns, row, whole, self.together, self.lengths[first:beyond], self.stamp)
            first, row = beyond, int(ends[beyond - 1])


@dataclass(frozen=True)
class ReadPart:
    """Reads what a part holds; `graded` says that judgements stand in a column beside the scores, if anywhere."""

    graded: bool

    def __call__(self, path: Path) -> Part:
        scan = scan_parquet(path, COLUMNS)
        columns = tuple(scan.collect_schema().names())
        for needed in ("query_id", "doc_id", "retriever"):
            if needed not in columns:
                there = ", ".join(pl.read_parquet_schema(path))
                raise InputError(f"{path}: no column '{needed}' (it has: {there})")
        looked_at = ("query_id", "group", "relevance") if self.graded else ("query_id", "group")
        telling = [name for name in looked_at if name in columns]
        runs: list[pl.DataFrame] = []
        groups: dict[str, str] = {}
        stamp, texts = stamp_of(path), 0
        while not runs or runs[-1]["rows"].sum() == _SLICE:
            read = collected(scan.select(telling).slice(len(runs) * _SLICE, _SLICE), path)
            texts += text_bytes(read)
            refuse_endless_texts(texts, path)
            with naming(path):
                frame = as_polars(read)
                runs.append(_runs(frame))
                groups |= agreeing(groups, groups_of(frame)) if "group" in telling else {}
        refuse_changed(path, stamp)
        return _part(path, stamp, columns, pl.concat(runs), groups, sliced=len(runs) > 1)


def _runs(frame: pl.DataFrame) -> pl.DataFrame:
    """Stretches of rows of one query, with what their grades tell."""
    runs = frame["query_id"].rle().struct.unnest()
    offsets = offsets_of(runs["len"].to_numpy())
    counted = {name: np.zeros(runs.height, dtype=np.int64) for name in ("judged", "relevant", "negative")}
    if "relevance" in frame.columns:
        given = frame.filter(pl.col("relevance").is_not_null())
        refuse_odd_grades(given["query_id"], given["relevance"])
        grades = as_numbers(frame["relevance"], strict=False).to_numpy()
        flags = {"judged": ~np.isnan(grades), "relevant": grades > 0, "negative": grades < 0}
        counted = {name: counts_by_query(each, offsets) for name, each in flags.items()}
    found: dict[str, Any] = {"query_id": runs["value"], "rows": np.diff(offsets), **counted}
    return pl.DataFrame(found).with_columns(pl.col("judged", "relevant") > 0)


def _part(
    path: Path,
    stamp: tuple[int, int],
    columns: tuple[str, ...],
    runs: pl.DataFrame,
    groups: Mapping[str, str],
    sliced: bool,
) -> Part:
    """Stretches that follow each other, at the border of two slices, are one."""
    added = (pl.col("rows").sum(), pl.col("judged", "relevant").any(), pl.col("negative").sum())
    whole = runs
    if sliced:
        numbered = pl.col("query_id").rle_id().alias("run")
        whole = runs.group_by(numbered, maintain_order=True).agg(pl.col("query_id").first(), *added)
    together = whole["query_id"].n_unique() == whole.height
    if not together:
        whole = whole.group_by("query_id").agg(*added).sort("query_id")
    return Part(
        path,
        stamp,
        columns,
        whole["query_id"],
        whole["rows"].to_numpy(),
        together,
        whole["judged"].to_numpy(),
        whole["relevant"].to_numpy(),
        int(whole["negative"].sum()),
        groups,
    )


def agreeing(known: Mapping[str, str], more: Mapping[str, str]) -> Mapping[str, str]:
    """More groups, once it is clear that they contradict none."""
    for query, group in more.items():
        if known.get(query, group) != group:
            raise InputError(f"query '{query}' is in two groups, '{known[query]}' and '{group}'")
    return more
