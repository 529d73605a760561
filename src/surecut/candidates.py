"""Candidates: what both stages and the judges said about each query's documents, as ragged columns."""

import hashlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from surecut.arrays import Array, Bool, Float32, Float64, Int32, Int64, Strings
from surecut.errors import InputError
from surecut.fingerprints import combine_digests, query_digests

if TYPE_CHECKING:
    import polars as pl

UNJUDGED = -1
_SPLIT_SALT = b"surecut split "
T = TypeVar("T")


@dataclass(frozen=True)
class Census:
    """What was left out or changed on the way in; reported, never silently dropped."""

    absent_queries: int = 0  # judged, but not in the retriever's run
    absent_as_zero: int = 0  # those that count as 0 on request
    negative_grades: int = 0  # read as 0
    extra_reranked: int = 0  # reranker rows that are no candidates
    filled_reranked: int = 0  # candidates the reranker run misses, placed last on request

    @classmethod
    def total(cls, parts: Iterable["Census"]) -> "Census":
        """The counts of several parts, added up."""
        counts = [astuple(part) for part in parts]
        return cls(*map(sum, zip(*counts, strict=True)))


@dataclass(frozen=True, eq=False)
class Candidates:
    """Queries with their candidates in retriever order (descending score; ties: document id descending).

    Made by `read_trec`, `read_table` or one of the `from_` methods. The columns are flat arrays: row `i` of query `q`
    lies at `offsets[q] + i` of `retriever`, `reranker`, `grades` and `doc_ids`. `grades` is -1 where there is no
    judgement; `missed` holds, per query, the grades of judged documents that are no candidates. `lengths` is how many
    candidates each query has, `len(data)` how many queries there are.
    """

    query_ids: Strings
    offsets: Int64
    retriever: Float32
    reranker: Float64 | None
    grades: Int32
    judged: Bool
    missed: Int32
    missed_offsets: Int64
    doc_ids: "pl.Series | None" = None
    groups: Strings | None = None
    census: Census = field(default_factory=Census)
    system: Mapping[str, str] = field(default_factory=dict)
    depth: int | None = None  # how many the retriever was asked for; lists may be shorter

    @classmethod
    def from_arrays(
        cls,
        retriever: Any,
        reranker: Any = None,
        relevance: Any = None,
        *,
        offsets: Any = None,
        query_ids: Iterable[str] | None = None,
        doc_ids: Any = None,
        missed: Sequence[Any] | None = None,
        total_relevant: Any = None,
        group: Iterable[str] | None = None,
    ) -> "Candidates":
        """From 2-D arrays, or flat ones with `offsets`; rows need not be sorted.

        >>> Candidates.from_arrays([[3.0, 2.0], [5.0, 1.0]], [[0.1, 0.9], [0.7, 0.2]], [[0, 1], [1, 0]])
        Candidates(2 queries, 4 candidates, 2 judged)

        Args:
            retriever: First-stage scores, queries by candidates; kept as 32-bit floats.
            reranker: Second-stage scores of the same candidates.
            relevance: The grade of each candidate; without it no query is judged.
            offsets: Where each query begins in flat arrays, and where the last one ends.
            query_ids: Names of the queries; "0", "1", ... without them.
            doc_ids: Names of the documents, which break ties; without them the order given does.
            missed: For each query, the grades of judged documents that are no candidates.
            total_relevant: The same for binary judgements: how many relevant documents each query has in all.
            group: Of each query; those with the same one count as one unit.
        """
        from surecut.arraying import from_arrays

        return from_arrays(retriever, reranker, relevance, offsets, query_ids, doc_ids, missed, total_relevant, group)

    @classmethod
    def from_frame(cls, frame: Any, qrels: Any = None, **options: Any) -> "Candidates":
        """From a polars or pandas frame: query_id doc_id retriever reranker relevance (null: unjudged).

        A column `group` makes one unit of queries that share it. `qrels`, a frame or `{query: {doc: grade}}`, takes
        the place of the relevance column and knows of documents that were not retrieved. `options` are `depth`,
        `missing_reranker` and `absent`, as in `read_trec`, and `system`, fingerprints by the name of the stage.
        """
        from surecut.frames import from_frame

        return from_frame(frame, qrels, **options)

    @classmethod
    def from_dicts(
        cls,
        retriever: Mapping[str, Mapping[str, float]],
        reranker: Mapping[str, Mapping[str, float]] | None = None,
        qrels: Mapping[str, Mapping[str, int]] | None = None,
        **options: Any,
    ) -> "Candidates":
        """From `{query: {doc: score}}`, the shape that ranx, pytrec_eval and BEIR use.

        `options` are `depth`, `missing_reranker` and `absent`, as in `read_trec`.
        """
        from surecut.frames import from_dicts

        return from_dicts(retriever, reranker, qrels, **options)

    def __len__(self) -> int:
        return self.query_ids.size

    def __repr__(self) -> str:
        return (
            f"Candidates({len(self):,} queries, {self.retriever.size:,} candidates, {int(self.judged.sum()):,} judged)"
        )

    @property
    def lengths(self) -> Int64:
        """How many candidates each query has."""
        return np.diff(self.offsets)

    @property
    def units(self) -> Strings:
        """What counts as one independent draw, the query or its group."""
        return self.query_ids if self.groups is None else self.groups

    @property
    def any_relevant(self) -> bool:
        """Is any document relevant to any query?"""
        return bool(np.any(self.grades > 0) or np.any(self.missed > 0))

    @property
    def without_relevant(self) -> int:
        """Judged queries with no relevant document, which stay with measure 0."""
        found = counts_by_query(self.grades > 0, self.offsets)
        beyond = counts_by_query(self.missed > 0, self.missed_offsets)
        return int(np.sum(self.judged & (found + beyond == 0)))

    def take(self, queries: Array) -> "Candidates":
        """Some queries, by position, in the order given."""
        rows, offsets = _ragged_rows(self.offsets, queries)
        missed_rows, missed_offsets = _ragged_rows(self.missed_offsets, queries)
        return replace(
            self,
            query_ids=self.query_ids[queries],
            offsets=offsets,
            retriever=self.retriever[rows],
            reranker=None if self.reranker is None else self.reranker[rows],
            grades=self.grades[rows],
            judged=self.judged[queries],
            missed=self.missed[missed_rows],
            missed_offsets=missed_offsets,
            doc_ids=None if self.doc_ids is None else self.doc_ids.gather(rows),
            groups=None if self.groups is None else self.groups[queries],
        )

    def map(self, work: "Callable[[Candidates], T]", scores_only: bool = False) -> "Iterator[T]":
        """What is in memory is one piece (see `Lists`)."""
        yield work(self)

    def at_hand(self) -> "Candidates":
        """What is in memory is (see `Lists`)."""
        return replace(self, doc_ids=None)

    def in_pieces(self, rows: int = 1_000_000) -> "Iterator[Candidates]":
        """Whole queries one after the other, about so many rows at a time; the columns are views."""
        first = 0
        while first < len(self):
            beyond = int(np.searchsorted(self.offsets, self.offsets[first] + rows, side="right")) - 1
            beyond = max(beyond, first + 1)
            yield self._between(first, beyond)
            first = beyond

    def _between(self, first: int, beyond: int) -> "Candidates":
        if (first, beyond) == (0, len(self)):
            return self
        queries, borders = slice(first, beyond), slice(first, beyond + 1)
        rows = slice(self.offsets[first], self.offsets[beyond])
        missed = slice(self.missed_offsets[first], self.missed_offsets[beyond])
        return replace(
            self,
            query_ids=self.query_ids[queries],
            offsets=self.offsets[borders] - rows.start,
            retriever=self.retriever[rows],
            reranker=None if self.reranker is None else self.reranker[rows],
            grades=self.grades[rows],
            judged=self.judged[queries],
            missed=self.missed[missed],
            missed_offsets=self.missed_offsets[borders] - missed.start,
            doc_ids=None if self.doc_ids is None else self.doc_ids[rows],
            groups=None if self.groups is None else self.groups[queries],
        )

    def select(self, query_ids: Iterable[str]) -> "Candidates":
        """Some queries, by id, in the order given."""
        place = {query: position for position, query in enumerate(self.query_ids)}
        wanted = list(query_ids)
        for query in wanted:
            if query not in place:
                raise InputError(f"no query '{query}' among these candidates")
        return self.take(np.array([place[query] for query in wanted], dtype=np.int64))

    def split(self, shares: Sequence[float], seed: int = 0) -> tuple["Candidates", ...]:
        """Disjoint parts by a hash of each query's id (or group), whatever order the queries come in.

        >>> from surecut import simulate
        >>> [len(part) for part in simulate(queries=1000, depth=5).split((0.8, 0.2))]
        [810, 190]
        """
        return tuple(self.take(places) for places in divided(self.units, shares, seed))

    def cut(self, depth: int | None) -> "Candidates":
        """The first `depth` of each list; relevant documents beyond it count as missed."""
        if depth is None:
            return self
        if (lengths := self.lengths).max(initial=0) <= depth:
            return replace(self, depth=depth)
        kept = np.minimum(lengths, depth)
        rank = np.arange(self.retriever.size) - np.repeat(self.offsets[:-1], lengths)
        stays = rank < depth
        owner = np.repeat(np.arange(len(self)), lengths)
        lost = ~stays & (self.grades != UNJUDGED)
        missed_owner = np.concatenate((np.repeat(np.arange(len(self)), np.diff(self.missed_offsets)), owner[lost]))
        missed, missed_offsets = ragged(missed_owner, np.concatenate((self.missed, self.grades[lost])), len(self))
        return replace(
            self,
            offsets=offsets_of(kept),
            retriever=self.retriever[stays],
            reranker=None if self.reranker is None else self.reranker[stays],
            grades=self.grades[stays],
            missed=missed,
            missed_offsets=missed_offsets,
            doc_ids=None if self.doc_ids is None else self.doc_ids.filter(stays),
            depth=depth,
        )

    def with_groups(self, groups: Mapping[str, str]) -> "Candidates":
        """Make one unit of all queries with the same group; a query without one is a unit of its own."""
        return replace(self, groups=unit_names(self.query_ids, groups))

    def fingerprint(self) -> str:
        """A hash of scores and relevant grades by query id; order and format of the input leave no trace."""
        return combine_digests(self.query_ids, query_digests(self))

    def shared_with(self, other: "Candidates") -> int:
        """How many of the queries here are there too: the same id, scores and judgements."""
        here, there = (
            {(query, digest.tobytes()) for query, digest in zip(data.query_ids, query_digests(data), strict=True)}
            for data in (self, other)
        )
        return len(here & there)


def unit_names(query_ids: Strings, groups: Mapping[str, str]) -> Strings:
    """The group of each query; one without a group is named for itself, and never as a group is."""
    taken = set(groups.values())
    alone = (f"\0{query}" if query in taken else query for query in query_ids)
    named = [groups.get(query, own) for query, own in zip(query_ids, alone, strict=True)]
    return np.array(named, dtype=object)


def divided(units: Iterable[str], shares: Sequence[float], seed: int) -> Iterator[Int64]:
    """Places of the queries in each of several disjoint parts, by a hash of their units."""
    if not shares or min(shares) <= 0 or sum(shares) > 1 + 1e-9:
        raise InputError(f"shares must be positive and add up to at most 1, not {tuple(shares)}")
    place = hashed_share(units, _SPLIT_SALT + str(seed).encode())
    edges = np.concatenate(([0.0], np.cumsum(shares)))
    edges[-1] = np.inf if sum(shares) > 1 - 1e-9 else edges[-1]
    for low, high in itertools.pairwise(edges):
        yield np.flatnonzero((place >= low) & (place < high))


def counts_by_query(flags: Bool, offsets: Int64) -> Int64:
    """How many rows of each query carry the flag."""
    return np.diff(np.searchsorted(np.flatnonzero(flags), offsets))


def hashed(ids: Iterable[str], salt: bytes) -> npt.NDArray[np.uint64]:
    """A number for each id that depends on nothing but the id and the salt."""
    salted = hashlib.blake2b(salt, digest_size=8)
    digests = []
    for each in ids:
        hashing = salted.copy()  # quicker than to begin anew
        hashing.update(each.encode())
        digests.append(hashing.digest())
    return np.frombuffer(b"".join(digests), dtype=">u8").astype(np.uint64)


def hashed_share(ids: Iterable[str], salt: bytes) -> Float64:
    """`hashed`, as a number between 0 and 1."""
    return hashed(ids, salt) / 2.0**64


def offsets_of(lengths: npt.ArrayLike) -> Int64:
    """Where each of several consecutive parts begins, and where the last one ends."""
    return np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)


def ragged(owner: Array, values: Int32, owners: int) -> tuple[Int32, Int64]:
    """Values gathered by owner, each owner's in descending order, with offsets."""
    order = np.lexsort((-values, owner))
    return values[order], offsets_of(np.bincount(owner, minlength=owners))


def _ragged_rows(offsets: Int64, queries: Array) -> tuple[Int64, Int64]:
    lengths = np.diff(offsets)[queries]
    taken = offsets_of(lengths)
    rows = np.arange(taken[-1]) + np.repeat(offsets[:-1][queries] - taken[:-1], lengths)
    return rows, taken
