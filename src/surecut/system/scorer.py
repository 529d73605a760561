"""The second stage: blocks of queries with what was found for them, reranked wherever that is."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
import polars as pl

from surecut.arrays import Int64
from surecut.errors import InputError, Unscorable
from surecut.system.collection import Queries
from surecut.system.isolating import (
    Failure,
    Isolated,
    blamed_on_texts,
    halves,
    isolate,
    refuse_hopeless,
    spread,
)
from surecut.system.rerankers import Reranker
from surecut.system.searching import Found, found_file
from surecut.system.texts import TextStore
from surecut.system.topk import Hits

_GROUPS_HELD = 2
_COLUMNS = {"query_id": pl.String, "doc_id": pl.String, "retriever": pl.Float32, "reranker": pl.Float64}
_UNKNOWN = "the reranker gave no number: the document could not be encoded, or is unknown to it"
_FEW = 4  # candidates of a query that is tried


@dataclass(frozen=True)
class Task:
    """Queries to score, by their numbers, and the group that they were searched for in."""

    group: range
    queries: range


@dataclass(frozen=True, eq=False)
class Scored:
    """Rows of a table (query_id doc_id retriever reranker), what failed, and how many documents were cut."""

    rows: pl.DataFrame
    failures: list[Failure]
    cut: int


@dataclass(frozen=True)
class Scorer:
    """Everything a worker needs to become one: called, it loads the models."""

    reranker: Reranker
    queries: Queries
    documents: Path
    found: Path
    groups: Sequence[range]  # of all queries; those of which all blocks were there need not have been searched for
    refused: Mapping[int, str]  # queries that the reranker cannot take, and why

    def __call__(self) -> "Scoring":
        documents = TextStore(self.documents)
        self.reranker.load(documents)
        return Scoring(self, documents)

    def divided(self, task: Task) -> list[Task]:
        return [replace(task, queries=part) for part in halves(task.queries)]

    def joined(self, made: Sequence[Scored]) -> Scored:
        failures = [failure for each in made for failure in each.failures]
        return Scored(pl.concat([each.rows for each in made]), failures, sum(each.cut for each in made))

    def given_up(self, task: Task, reason: str) -> Scored:
        """No candidates for its query."""
        failures = [Failure(self.queries.ids[number], None, reason) for number in task.queries]
        return Scored(pl.DataFrame(schema=_COLUMNS), failures, 0)


class Scoring:
    """The reranker, ready."""

    def __init__(self, given: Scorer, documents: TextStore) -> None:
        self._reranker, self._queries, self._documents = given.reranker, given.queries, documents
        self._folder, self._groups, self._refused = given.found, given.groups, given.refused
        self._found = lru_cache(_GROUPS_HELD)(lambda group: Found.load(given.found, group))

    def __call__(self, task: Task) -> Scored:
        found = self._found(task.group).about(task.queries)
        pairs = Pairs(self._queries[task.queries.start : task.queries.stop], found.hits)
        refused = {number: self._refused[number] for number in task.queries if number in self._refused}
        askable = np.array([number not in refused for number in task.queries])
        before = self._reranker.cut
        scored = self._rerank(pairs, np.flatnonzero(askable[pairs.owners]))
        cut = self._reranker.cut - before
        first, last = pairs.queries.ids[0], pairs.queries.ids[-1]
        refuse_hopeless(
            scored,
            lambda pair: bool(self._rerank(pairs, np.array([pair])).made),
            self.alive,
            f"queries '{first}' to '{last}'",
        )
        whole = sorted((refused | found.reasons).items())
        failures = [Failure(self._queries.ids[number], None, reason) for number, reason in whole]
        failures += [
            Failure(pairs.queries.ids[pairs.owners[pair]], self._documents.ids[int(pairs.numbers[pair])], reason)
            for pair, reason in sorted(scored.reasons.items())
        ]
        return Scored(self._rows(pairs, scored), failures, cut)

    def alive(self) -> bool:
        return any(map(self._goes_through, spread(len(self._queries))))

    def _goes_through(self, number: int) -> bool:
        """Can a query be scored, with a few of what was found for it, and of all documents?"""
        numbers = np.unique(np.concatenate((self._few_found(number), spread(len(self._documents), _FEW))))
        tried = Hits(numbers, np.zeros(numbers.size, dtype=np.float32))
        return bool(self._rerank(Pairs(self._queries[number : number + 1], [tried]), np.arange(numbers.size)).made)

    def _few_found(self, number: int) -> Int64:
        group = next(each for each in self._groups if number in each)
        if not found_file(self._folder, group).exists():
            return np.empty(0, dtype=np.int64)
        return self._found(group).about(range(number, number + 1)).hits[0].documents[:_FEW]

    def _rerank(self, pairs: "Pairs", asked: Int64) -> Isolated[float]:
        """A score for each candidate at some places, but for those that the reranker fails on."""

        def rerank(places: Int64) -> list[float]:
            some = pairs.some(asked[places])
            return self._scores(some.queries, some.hits)

        found, at = isolate(rerank, asked.size), asked.tolist()
        reasons = {at[place]: reason for place, reason in found.reasons.items()}
        unknown = {at[place]: _UNKNOWN for place, score in found.made.items() if math.isnan(score)}
        scores = {at[place]: score for place, score in found.made.items() if not math.isnan(score)}
        return Isolated(scores, unknown | reasons)

    def _scores(self, queries: Queries, hits: Sequence[Hits]) -> list[float]:
        """What the reranker gives, once it is clear that it is a number for each candidate; nan where it is none."""
        with blamed_on_texts():
            given = self._reranker.rerank(queries, hits, self._documents)
            scores = [np.asarray(each, dtype=np.float64) for each in given]
        if [each.shape for each in scores] != [each.documents.shape for each in hits]:
            sizes = ", ".join(str(each.documents.size) for each in hits[:_FEW])
            got = ", ".join(str(each.size) for each in scores[:_FEW])
            raise Unscorable(f"the reranker gave {got} scores for lists of {sizes} candidates")
        every = np.concatenate(scores)
        finite: list[float] = np.where(np.isfinite(every), every, np.nan).tolist()
        return finite

    def _rows(self, pairs: "Pairs", scored: Isolated[float]) -> pl.DataFrame:
        scores = np.full(pairs.owners.size, np.nan)
        scores[list(scored.made)] = list(scored.made.values())
        return pl.DataFrame(
            {
                "query_id": pl.Series(list(pairs.queries.ids), dtype=pl.String).gather(pairs.owners),
                "doc_id": pl.Series(self._documents.ids.take(pairs.numbers), dtype=pl.String),
                "retriever": np.concatenate([each.scores for each in pairs.hits]).astype(np.float32),
                "reranker": pl.Series(scores, dtype=pl.Float64).fill_nan(None),
            }
        )


def refused_queries(reranker: Reranker, queries: Queries) -> dict[int, str]:
    """Queries that the reranker cannot take, whatever is found for them, and why; it is an error if it takes none."""

    def ask(places: Int64) -> list[int]:
        asked = Queries([queries.ids[place] for place in places], [queries.texts[place] for place in places])
        try:
            reranker.refuse_queries(asked)
        except InputError as error:
            raise Unscorable(error.sentence) from None
        return places.tolist()  # type: ignore[no-any-return]

    found = isolate(ask, len(queries))
    if not found.made:
        raise InputError(f"query '{queries.ids[0]}': {found.reasons[0]}")
    return found.reasons


@dataclass(frozen=True, eq=False)
class Pairs:
    """Queries with their candidates, one after the other."""

    queries: Queries
    hits: Sequence[Hits]

    @cached_property
    def owners(self) -> Int64:
        """The place of each candidate's query."""
        return np.repeat(np.arange(len(self.hits)), [each.documents.size for each in self.hits])

    @cached_property
    def numbers(self) -> Int64:
        """Each candidate, by its document's number."""
        return np.concatenate([each.documents for each in self.hits])

    def some(self, places: Int64) -> "Pairs":
        """Those at some places, in ascending order; their first-stage scores are not needed any more."""
        asked, parts = np.unique(self.owners[places], return_index=True)
        queries = Queries([self.queries.ids[q] for q in asked], [self.queries.texts[q] for q in asked])
        documents = np.split(self.numbers[places], parts[1:])
        return Pairs(queries, [Hits(each, np.zeros(each.size, dtype=np.float32)) for each in documents])
