"""The second stage: blocks of queries with what was found for them, reranked wherever that is."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import polars as pl

from surecut.arrays import Float64, Int64
from surecut.errors import Unscorable
from surecut.system.collection import Queries
from surecut.system.isolating import Failure, blamed_on_texts, halves, isolate, spread
from surecut.system.rerankers import Reranker
from surecut.system.searching import Found
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
    groups: Sequence[range]  # those that were searched for

    def __call__(self) -> "Scoring":
        documents = TextStore(self.documents)
        self.reranker.load(documents)
        return Scoring(self.reranker, self.queries, documents, self.found, self.groups)

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

    def __init__(
        self, reranker: Reranker, queries: Queries, documents: TextStore, found: Path, groups: Sequence[range]
    ) -> None:
        self._reranker, self._queries, self._documents = reranker, queries, documents
        self._groups = groups
        self._found = lru_cache(_GROUPS_HELD)(lambda group: Found.load(found, group))
        self._sound: Task | None = None  # a block that was scored last

    def __call__(self, task: Task) -> Scored:
        found, queries = self._found(task.group), self._queries[task.queries.start : task.queries.stop]
        hits = [self._hits(task.group, number) for number in task.queries]
        before = self._reranker.cut
        scores, unscored = self._rerank(queries, hits)
        unsearched = [
            Failure(self._queries.ids[number], None, found.reasons[number])
            for number in task.queries
            if number in found.reasons
        ]
        if not np.isnan(scores).all():
            self._sound = task
        elif unscored:
            self._refuse_hopeless(unscored[0].reason)
        return Scored(self._rows(queries, hits, scores), unsearched + unscored, self._reranker.cut - before)

    def _refuse_hopeless(self, reason: str) -> None:
        """Where nothing of a block can be scored, others are tried."""
        before = self._reranker.cut
        if not any(self._goes_through(group, number) for group, number in self._others()):
            raise Unscorable(f"nothing can be scored any more: {reason}")
        self._reranker.cut = before

    def _others(self) -> Iterator[tuple[range, int]]:
        """Queries with the groups that they are in."""
        if self._sound is not None:
            yield self._sound.group, self._sound.queries.start
        searched = [(group, number) for group in self._groups for number in group]
        yield from (searched[place] for place in spread(len(searched)))

    def _goes_through(self, group: range, number: int) -> bool:
        hits = self._hits(group, number)
        first = Hits(hits.documents[:_FEW], hits.scores[:_FEW])
        scores, _ = self._rerank(self._queries[number : number + 1], [first])
        return not np.isnan(scores).all()

    def _hits(self, group: range, number: int) -> Hits:
        return self._found(group).hits[number - group.start]

    def _rerank(self, queries: Queries, hits: Sequence[Hits]) -> tuple[Float64, list[Failure]]:
        """A score for each candidate, one after the other; nan for a pair that the reranker fails on."""
        sizes = [each.documents.size for each in hits]
        owners = np.repeat(np.arange(len(hits)), sizes)
        numbers = np.concatenate([each.documents for each in hits])

        def rerank(pairs: Int64) -> list[float]:
            asked, parts = np.unique(owners[pairs], return_index=True)
            documents = np.split(numbers[pairs], parts[1:])
            some = Queries([queries.ids[q] for q in asked], [queries.texts[q] for q in asked])
            listed = [Hits(each, np.zeros(each.size, dtype=np.float32)) for each in documents]
            return self._scores(some, listed)

        found = isolate(rerank, owners.size)
        scores = np.full(owners.size, np.nan)
        scores[list(found.made)] = list(found.made.values())
        unknown = dict.fromkeys(np.flatnonzero(np.isnan(scores)).tolist(), _UNKNOWN)
        failures = [
            Failure(queries.ids[owners[pair]], self._documents.ids[int(numbers[pair])], reason)
            for pair, reason in sorted({**unknown, **found.reasons}.items())
        ]
        return scores, failures

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

    def _rows(self, queries: Queries, hits: Sequence[Hits], scores: Float64) -> pl.DataFrame:
        owners = np.repeat(np.arange(len(hits)), [each.documents.size for each in hits])
        numbers = np.concatenate([each.documents for each in hits])
        return pl.DataFrame(
            {
                "query_id": pl.Series(list(queries.ids), dtype=pl.String).gather(owners),
                "doc_id": pl.Series(self._documents.ids.take(numbers), dtype=pl.String),
                "retriever": np.concatenate([each.scores for each in hits]).astype(np.float32),
                "reranker": pl.Series(scores, dtype=pl.Float64).fill_nan(None),
            }
        )
