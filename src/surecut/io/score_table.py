"""Score tables larger than memory: read piece by piece, so that only what is computed of a piece stays."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np

from surecut.alignment import MissingReranker, without_lists
from surecut.arrays import Array, Bool, Int64, Strings
from surecut.candidates import Candidates, Census, divided, unit_names
from surecut.fingerprints import combine_digests, query_digests
from surecut.io.pieces import Asked, Piece
from surecut.io.roster import Roster
from surecut.io.spooling import spooled
from surecut.joining import joined
from surecut.judgements import Judgements
from surecut.lists import as_it_is, without_ids
from surecut.memory import refuse_beyond_memory
from surecut.runners import LOCAL, Runner
from surecut.watching import SILENT, Watch

A = TypeVar("A", bound=Array)
T = TypeVar("T")
_BYTES_A_CANDIDATE = 40  # in memory: both scores, the grade, the document's id


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """A score table on disk: `calibrate`, `check` and `run_trials` take it as they take Candidates.

    Made by `scan_table`. Its lists are read piece by piece, as often as they are needed; the results are those of
    `read_table`, to the last byte.
    """

    name: str
    roster: Roster
    pieces: tuple[Piece, ...]  # queries in the order of the roster; those after the last piece have no list
    judgements: Judgements | None
    missing_reranker: MissingReranker
    runner: Runner = LOCAL
    census: Census = field(default_factory=Census)
    system: Mapping[str, str] = field(default_factory=dict)
    depth: int | None = None  # how many the retriever was asked for; lists may be shorter
    limit: int | None = None  # where lists are cut as they are read
    shortened: int | None = None  # where they are cut afterwards, as those in memory would be
    chosen: Int64 | None = None  # places in the roster; None: all of it
    watch: Watch = SILENT

    def __len__(self) -> int:
        return self.query_ids.size

    def __repr__(self) -> str:
        judged = f"{int(self.judged.sum()):,} judged"
        return f"ScoreTable('{self.name}', {len(self):,} queries, {int(self.lengths.sum()):,} candidates, {judged})"

    @cached_property
    def query_ids(self) -> Strings:
        return self._of_chosen(self.roster.query_ids)

    @cached_property
    def lengths(self) -> Int64:
        """How many candidates each query has."""
        return self._cut(self._of_chosen(self.roster.lengths))

    @cached_property
    def judged(self) -> Bool:
        return self._of_chosen(self.roster.judged)

    @cached_property
    def groups(self) -> Strings | None:
        return None if self.roster.groups is None else self._of_chosen(self.roster.groups)

    @property
    def units(self) -> Strings:
        """What counts as one independent draw, the query or its group."""
        return self.query_ids if self.groups is None else self.groups

    @property
    def any_relevant(self) -> bool:
        """Is any document relevant to any query?"""
        return bool(self._of_chosen(self.roster.relevant).any())

    @property
    def without_relevant(self) -> int:
        """Judged queries with no relevant document, which stay with measure 0."""
        return int(np.sum(self.judged & ~self._of_chosen(self.roster.relevant)))

    def take(self, queries: Array) -> "ScoreTable":
        """Some queries, by position; they keep the order they have in the table."""
        places = np.unique(np.asarray(queries, dtype=np.int64))
        if places.size != len(queries):
            raise ValueError("a table gives each of its queries once")
        return replace(self, chosen=places if self.chosen is None else self.chosen[places])

    def split(self, shares: Sequence[float], seed: int = 0) -> tuple["ScoreTable", ...]:
        """Disjoint parts by a hash of each query's id (or group): those that `Candidates.split` makes."""
        return tuple(self.take(places) for places in divided(self.units, shares, seed))

    def cut(self, depth: int | None) -> "ScoreTable":
        """The first `depth` of each list; relevant documents beyond it count as missed."""
        if depth is None:
            return self
        return replace(self, depth=depth, shortened=depth if self.shortened is None else min(depth, self.shortened))

    def with_groups(self, groups: Mapping[str, str]) -> "ScoreTable":
        """Make one unit of all queries with the same group; a query without one is a unit of its own."""
        return replace(self, roster=replace(self.roster, groups=unit_names(self.roster.query_ids, groups)))

    def map(self, work: Callable[[Candidates], T], scores_only: bool = False) -> Iterator[T]:
        """What `work` makes of each piece, in the order of the queries (see `Lists`)."""
        self.watch.stage("reading scores" if scores_only else "reading lists", int(self.lengths.sum()))
        wanted = self._wanted()
        asked = (self._asked(piece, first, chosen, scores_only) for piece, first, chosen in wanted)
        for (piece, _, chosen), made in zip(wanted, self.runner.map(_Reading(work), asked), strict=True):
            self.watch.advance(int(self._cut(piece.lengths[chosen]).sum()))
            yield made
        unlisted = self._without_lists()
        if unlisted is not None:
            yield work(unlisted)

    def fingerprint(self) -> str:
        """A hash of scores and relevant grades by query id: that of the same queries in memory."""
        return combine_digests(self.query_ids, np.concatenate(list(self.map(query_digests))))

    def collect(self) -> Candidates:
        """All of it in memory."""
        refuse_beyond_memory(int(self.lengths.sum()) * _BYTES_A_CANDIDATE, self.name)
        whole = joined(list(self.map(as_it_is)))
        census = replace(self.census, filled_reranked=whole.census.filled_reranked)
        return replace(whole, census=census, system=dict(self.system), depth=self.depth)

    def at_hand(self) -> Candidates:
        """All lists at once, without document ids, in files that are mapped into memory (see `Lists`)."""
        return replace(spooled(self.map(without_ids)), system=dict(self.system), depth=self.depth)

    def _cut(self, lengths: Int64) -> Int64:
        depths = [depth for depth in (self.limit, self.shortened) if depth is not None]
        return np.minimum(lengths, min(depths)) if depths else lengths

    def _of_chosen(self, column: A) -> A:
        return column if self.chosen is None else cast(A, column[self.chosen])

    def _wanted(self) -> list[tuple[Piece, int, Bool]]:
        """Pieces that hold chosen queries, with where in the roster each begins and which of its queries are chosen.

        Of no queries at all it is the first piece, which says what columns there are.
        """
        mask = np.full(self.roster.query_ids.size, self.chosen is None)
        if self.chosen is not None:
            mask[self.chosen] = True
        found, first = [], 0
        for piece in self.pieces:
            chosen = mask[first : first + len(piece)]
            if chosen.any() or (piece is self.pieces[0] and not len(self)):
                found.append((piece, first, chosen))
            first += len(piece)
        return found

    def _asked(self, piece: Piece, first: int, chosen: Bool, scores_only: bool) -> Asked:
        here = slice(first, first + len(piece))
        judgements = None
        if self.judgements is not None and not scores_only:
            judgements = self.judgements.about(self.roster.places[here][chosen])
        groups = None if self.roster.groups is None else self.roster.groups[here]
        judged = self.roster.judged[here]
        queries = self.roster.query_ids[here]
        cuts = self.limit, self.shortened
        return Asked(piece, queries, chosen, judged, groups, judgements, *cuts, self.missing_reranker, scores_only)

    def _without_lists(self) -> Candidates | None:
        """The chosen queries for which nothing was retrieved."""
        listed = sum(len(piece) for piece in self.pieces)
        places = np.arange(self.roster.query_ids.size) if self.chosen is None else self.chosen
        places = places[places >= listed]
        if not places.size or self.judgements is None:
            return None
        reranked = "reranker" in self.pieces[0].columns
        data = without_lists(self.roster.places[places], self.judgements, reranked)
        return data if self.roster.groups is None else replace(data, groups=self.roster.groups[places])


@dataclass(frozen=True)
class _Reading:
    """Reads a piece and works on it, wherever that is done."""

    work: Callable[[Candidates], Any]

    def __call__(self, asked: Asked) -> Any:
        return self.work(asked.read())
