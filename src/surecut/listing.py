"""Long tables, query by query: rows brought together, put in retriever order, matched with other tables."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from surecut.arrays import Array, Bool, Float32, Int64
from surecut.candidates import offsets_of
from surecut.errors import InputError
from surecut.kernels.matching import Hashes, match_rows
from surecut.ordering import as_float32, retriever_order

NO_DOCUMENTS = pl.Series("doc_id", [], dtype=pl.String)


@dataclass(frozen=True, eq=False)
class Listed:
    """Rows of a table, `offsets[q]` to `offsets[q + 1]` for query `q`; the frame holds doc_id and values."""

    queries: list[str]
    offsets: Int64
    frame: pl.DataFrame

    @property
    def docs(self) -> pl.Series:
        return self.frame["doc_id"]

    @property
    def lengths(self) -> Int64:
        return np.diff(self.offsets)

    @property
    def owners(self) -> Int64:
        """The query of each row, by its place."""
        return np.repeat(np.arange(len(self.queries)), self.lengths)

    def where(self, chosen: Bool) -> "Listed":
        """Some of the queries."""
        if chosen.all():
            return self
        names = [self.queries[place] for place in np.flatnonzero(chosen)]
        return Listed(names, offsets_of(self.lengths[chosen]), self.frame.filter(np.repeat(chosen, self.lengths)))

    @cached_property
    def hashes(self) -> Hashes:
        """A hash of each document id."""
        return self.docs.hash(0).to_numpy()

    @cached_property
    def more_hashes(self) -> Hashes:
        """Another one; that two ids share both is out of the question."""
        return self.docs.hash(1).to_numpy()

    def numbers(self, column: str, null: float = np.nan) -> Array:
        """A column as floating-point numbers: of 32 bits if it holds those, else of 64."""
        given = self.frame[column]
        given = given if given.dtype == pl.Float32 else as_numbers(given)
        return (given.fill_null(null) if given.null_count() else given).to_numpy()

    def place(self) -> dict[str, int]:
        return {query: position for position, query in enumerate(self.queries)}

    def owner(self, row: int) -> str:
        return self.queries[int(np.searchsorted(self.offsets, row, side="right")) - 1]

    def refuse_non_finite(self, scores: Array, what: str) -> None:
        finite = np.isfinite(scores)
        if not finite.all():
            row = int(np.argmin(finite))
            document = f", document '{self.docs[row]}'" if "doc_id" in self.frame.columns else ""
            raise InputError(
                f"the {what} score of query '{self.owner(row)}'{document} is not a finite number of "
                f"{8 * scores.itemsize} bits: remove the line or mend the score"
            )


def as_numbers(column: pl.Series, strict: bool = True) -> pl.Series:
    """A column as float64; where that is not `strict`, a text that is no number becomes a null."""
    try:
        if column.dtype.is_nested() or column.dtype.is_temporal():
            raise pl.exceptions.InvalidOperationError
        return column.cast(pl.Float64, strict=strict)
    except pl.exceptions.PolarsError:
        raise InputError(f"column '{column.name}' holds something that is not a number") from None


def grouped(frame: pl.DataFrame) -> Listed:
    """Bring the rows of each query together (most files have them so already)."""
    frame = frame.rechunk()  # gathering strings from many chunks costs ten times as much
    query, values = frame["query_id"], frame.drop("query_id")
    if frame.height == 0:
        return Listed([], np.zeros(1, dtype=np.int64), values)
    differs = (query.slice(1) != query.slice(0, frame.height - 1)).to_numpy()
    heads = np.concatenate(([0], np.flatnonzero(differs) + 1))
    queries = query.gather(heads)
    if not queries.is_sorted() and queries.n_unique() < len(queries):
        return grouped(frame.sort("query_id", maintain_order=True))
    return Listed(queries.to_list(), np.concatenate((heads, [frame.height])), values)


def in_retriever_order(listed: Listed, depth: int | None, column: str = "score") -> tuple[Listed, Float32]:
    """The same rows with each query's in retriever order, at most `depth` of them, and their scores."""
    scores = as_float32(listed.numbers(column))
    listed.refuse_non_finite(scores, "retriever")
    docs = listed.docs if "doc_id" in listed.frame.columns else None
    order = retriever_order(scores, listed.offsets, docs)
    lengths, offsets = listed.lengths, listed.offsets
    if depth is not None and lengths.max(initial=0) > depth:
        rank = np.arange(scores.size) - np.repeat(offsets[:-1], lengths)
        order = (np.arange(scores.size) if order is None else order)[rank < depth]
        offsets = offsets_of(np.minimum(lengths, depth))
    if order is None:
        return listed, scores
    whole = listed.frame.rechunk()  # gathering strings from many chunks costs ten times as much
    return Listed(listed.queries, offsets, whole[order]), scores[order]


def refuse_repeated(listed: Listed) -> None:
    """A document twice for one query is an error."""
    _refuse(listed, first_repeated(listed))


def first_repeated(listed: Listed) -> tuple[int, int] | None:
    """Two rows that are one document of one query, if there are such rows."""
    nothing = np.zeros(len(listed.queries), dtype=np.int64)
    none = np.empty(0, dtype=np.uint64)
    hashes = listed.hashes, listed.more_hashes
    _, first, second = match_rows(listed.offsets, *hashes, nothing, nothing, none, none)
    return None if first < 0 else (first, second)


def match(listed: Listed, other: Listed) -> Int64:
    """The row here of each row of the other table, or -1; a document twice in a query here is an error."""
    place = other.place()
    there = np.array([place.get(query, -1) for query in listed.queries], dtype=np.int64)
    known = there >= 0
    low, high = np.zeros_like(there), np.zeros_like(there)
    low[known], high[known] = other.offsets[there[known]], other.offsets[there[known] + 1]
    return _matched(listed, low, high, other)


def match_aligned(listed: Listed, other: Listed) -> Int64:
    """The same, for a shorter table that has the same queries in the same order."""
    low, high = other.offsets[:-1], other.offsets[1:]
    here, there = (listed.hashes, listed.hashes), (other.hashes, other.hashes)
    matched, twin, _ = match_rows(listed.offsets, *here, low, high, *there)
    found = matched >= 0
    if twin < 0 and listed.docs.gather(matched[found]).equals(other.docs.filter(pl.Series(found))):
        return matched
    return _matched(listed, low, high, other)  # a document is there twice, or two ids share the one hash


def _matched(listed: Listed, low: Int64, high: Int64, other: Listed) -> Int64:
    here, there = (listed.hashes, listed.more_hashes), (other.hashes, other.more_hashes)
    matched, first, second = match_rows(listed.offsets, *here, low, high, *there)
    _refuse(listed, None if first < 0 else (first, second))
    return matched


def _refuse(listed: Listed, twins: tuple[int, int] | None) -> None:
    if twins is not None:
        first, second = twins
        raise InputError(
            f"the retriever has document '{listed.docs[second]}' twice for query '{listed.owner(first)}': "
            "keep one of them"
        )
