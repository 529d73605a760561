"""A two-stage system at work on blocks of queries, wherever it runs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import polars as pl

from surecut.arrays import Float64, Int64
from surecut.errors import Unscorable
from surecut.system.collection import Queries
from surecut.system.isolating import Failure, halves, isolate
from surecut.system.rerankers import Reranker
from surecut.system.retrievers import Retriever, take_up
from surecut.system.texts import TextStore
from surecut.system.topk import Hits

_GROUPS_HELD = 2
_COLUMNS = {"query_id": pl.String, "doc_id": pl.String, "retriever": pl.Float32, "reranker": pl.Float64}
_OTHERS = 16  # queries that are tried where nothing of a block can be scored
_FEW = 4  # of their candidates


@dataclass(frozen=True)
class Task:
    """Queries to score, `start` to `end` of all, and the group around them that is searched together.

    What a retriever finds may depend, in the last bits, on the queries it is asked for together, so the group is the
    same whoever scores a part of it.
    """

    group_start: int
    group_end: int
    start: int
    end: int


@dataclass(frozen=True, eq=False)
class Scored:
    """Rows of a table (query_id doc_id retriever reranker), what failed, and how many documents were cut."""

    rows: pl.DataFrame
    failures: list[Failure]
    cut: int


@dataclass(frozen=True)
class Scorer:
    """Everything a worker needs to become one: called, it loads the index and the models."""

    retriever: Retriever
    reranker: Reranker
    queries: Queries
    documents: Path
    index: Path
    depth: int

    def __call__(self) -> "Scoring":
        documents = TextStore(self.documents)
        take_up(self.retriever, self.index, documents)
        self.reranker.load(documents)
        return Scoring(self.retriever, self.reranker, self.queries, documents, self.depth)

    def divided(self, task: Task) -> list[Task]:
        return [replace(task, start=part.start, end=part.stop) for part in halves(range(task.start, task.end))]

    def joined(self, made: Sequence[Scored]) -> Scored:
        failures = [failure for each in made for failure in each.failures]
        return Scored(pl.concat([each.rows for each in made]), failures, sum(each.cut for each in made))

    def given_up(self, task: Task, reason: str) -> Scored:
        """No candidates for its query."""
        failures = [Failure(query, None, reason) for query in self.queries.ids[task.start : task.end]]
        return Scored(pl.DataFrame(schema=_COLUMNS), failures, 0)


class Scoring:
    """Both stages, ready."""

    def __init__(
        self, retriever: Retriever, reranker: Reranker, queries: Queries, documents: TextStore, depth: int
    ) -> None:
        self._retriever, self._reranker, self._queries = retriever, reranker, queries
        self._documents, self._depth = documents, depth
        self._searched = lru_cache(_GROUPS_HELD)(self._search)
        self._sound = 0  # a query, of a block that was scored last

    def __call__(self, task: Task) -> Scored:
        hits, unsearched = self._searched(task.group_start, task.group_end)
        queries = self._queries[task.start : task.end]
        found = hits[task.start - task.group_start : task.end - task.group_start]
        before = self._reranker.cut
        scores, unscored = self._rerank(queries, found)
        failures = [each for each in unsearched if each.query_id in queries.ids] + unscored
        if not np.isnan(scores).all():
            self._sound = task.start
        elif failures:
            self._refuse_hopeless(failures[0].reason)
        return Scored(self._rows(queries, found, scores), failures, self._reranker.cut - before)

    def _refuse_hopeless(self, reason: str) -> None:
        """Where nothing of a block can be scored, its texts are to blame only if others still go through.

        A model, a device or a disk that has gone leaves no failures behind: the next run scores all that again.
        """
        spread = np.linspace(0, len(self._queries) - 1, _OTHERS).astype(int).tolist()
        before = self._reranker.cut
        if not any(self._goes_through(place) for place in dict.fromkeys((self._sound, *spread))):
            raise Unscorable(f"nothing can be scored any more: {reason}")
        self._reranker.cut = before

    def _goes_through(self, place: int) -> bool:
        hits, _ = self._search(place, place + 1)
        first = [Hits(each.documents[:_FEW], each.scores[:_FEW]) for each in hits]
        scores, _ = self._rerank(self._queries[place : place + 1], first)
        return not np.isnan(scores).all()

    def _search(self, start: int, end: int) -> tuple[list[Hits], list[Failure]]:
        """The candidates of each query of a group; a query that the retriever fails on has none."""
        group = self._queries[start:end]

        def search(places: Int64) -> list[Hits]:
            asked = Queries([group.ids[place] for place in places], [group.texts[place] for place in places])
            return self._retriever.search(asked, self._depth)

        found = isolate(search, len(group))
        nothing = Hits(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32))
        failures = [Failure(group.ids[place], None, reason) for place, reason in sorted(found.reasons.items())]
        return [found.made.get(place, nothing) for place in range(len(group))], failures

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
            scores: list[float] = np.concatenate(self._reranker.rerank(some, listed, self._documents)).tolist()
            return scores

        found = isolate(rerank, owners.size)
        scores = np.full(owners.size, np.nan)
        scores[list(found.made)] = list(found.made.values())
        unknown = dict.fromkeys(np.flatnonzero(np.isnan(scores)).tolist(), "the document could not be encoded")
        failures = [
            Failure(queries.ids[owners[pair]], self._documents.ids[int(numbers[pair])], reason)
            for pair, reason in sorted({**unknown, **found.reasons}.items())
        ]
        return scores, failures

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
