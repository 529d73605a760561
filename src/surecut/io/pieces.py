"""Pieces of a score table: whole queries, so few that they fit in memory."""

from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from surecut.alignment import MissingReranker, ungraded
from surecut.arrays import Bool, Int64, Strings
from surecut.candidates import Candidates, offsets_of
from surecut.errors import InputError
from surecut.frames import as_polars, from_grouped
from surecut.io.parquet import collected, naming, refuse_endless_texts, text_bytes
from surecut.judgements import Judgements
from surecut.listing import Listed, grouped, in_retriever_order
from surecut.memory import refuse_beyond_memory

_BYTES_A_ROW = 64  # at the least: ids, scores and their order


@dataclass(frozen=True, eq=False)
class Piece:
    """Whole queries of a file: so many rows from `start` on.

    Where the rows of a query do not lie together, the piece is the whole file, and they are sorted when it is read.
    """

    path: Path
    columns: tuple[str, ...]
    start: int
    whole: bool  # is it all of the file?
    together: bool
    lengths: Int64
    stamp: tuple[int, int]  # size and time of the file when its queries were read

    def __len__(self) -> int:
        return self.lengths.size

    @property
    def rows(self) -> int:
        return int(self.lengths.sum())

    def listed(self, queries: Strings, *columns: str) -> Listed:
        """Some of its columns (those that there are), query by query; the queries go by these names."""
        refuse_beyond_memory(self.rows * _BYTES_A_ROW, self.path)
        if not self.together:
            return grouped(self._frame(("query_id", *columns)))
        return Listed(queries.tolist(), offsets_of(self.lengths), self._frame(columns))

    def _frame(self, columns: tuple[str, ...]) -> pl.DataFrame:
        read = [name for name in columns if name in self.columns]
        scan = pl.scan_parquet(self.path, glob=False).select(read)
        if not self.whole:  # slicing costs up to a quarter more
            scan = scan.slice(self.start, self.rows)
        frame = collected(scan, self.path)
        refuse_changed(self.path, self.stamp, frame.height == self.rows)
        refuse_endless_texts(text_bytes(frame), self.path)
        with naming(self.path):
            return as_polars(frame)


def stamp_of(path: Path) -> tuple[int, int]:
    """What changes when a file does."""
    found = path.stat()
    return found.st_size, found.st_mtime_ns


def refuse_changed(path: Path, stamp: tuple[int, int], fits: bool = True) -> None:
    """What was read of a file that has changed since does not fit together."""
    if not fits or stamp_of(path) != stamp:
        raise InputError(
            f"{path}: was changed while it was read, or the nodes have copies that do not agree (in size and time)"
        )


@dataclass(frozen=True, eq=False)
class Asked:
    """What is to be read of a piece, with what is known of its queries from elsewhere."""

    piece: Piece
    queries: Strings
    chosen: Bool
    judged: Bool
    groups: Strings | None
    judgements: Listed | None  # of the chosen queries; None where grades stand beside the scores, or nowhere
    depth: int | None
    shortened: int | None  # where lists are cut once they are read
    missing_reranker: MissingReranker
    scores_only: bool

    def read(self) -> Candidates:
        """The chosen queries; with `scores_only`, nothing but the retriever's scores of them."""
        data = (self._scores() if self.scores_only else self._everything()).cut(self.shortened)
        return data if self.groups is None else replace(data, groups=self.groups[self.chosen])

    def _everything(self) -> Candidates:
        listed = self.piece.listed(self.queries, "doc_id", "retriever", "reranker", "relevance").where(self.chosen)
        judgements = self.judgements
        with naming(self.piece.path):
            if judgements is None and "relevance" in self.piece.columns:
                judgements = graded_rows(listed)
            return from_grouped(listed, judgements, self.depth, self.missing_reranker)

    def _scores(self) -> Candidates:
        listed = self.piece.listed(self.queries, "retriever").where(self.chosen)
        with naming(self.piece.path):
            listed, scores = in_retriever_order(listed, self.depth, column="retriever")
        return replace(ungraded(listed, scores, None), judged=self.judged[self.chosen])


def graded_rows(listed: Listed) -> Listed:
    """Judgements from a column of grades."""
    owners = pl.Series("query_id", listed.queries, dtype=pl.String).gather(listed.owners)
    judgements = Judgements(listed.frame.with_columns(owners))
    return judgements.about(judgements.places(listed.queries))
