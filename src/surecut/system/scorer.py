"""A two-stage system at work on blocks of queries, wherever it runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import polars as pl

from surecut.arrays import Float64, Int64
from surecut.errors import Unscorable
from surecut.system.collection import Queries
from surecut.system.isolating import Failure, isolate
from surecut.system.rerankers import Reranker
from surecut.system.retrievers import Retriever, take_up
from surecut.system.texts import TextStore
from surecut.system.topk import Hits

_GROUPS_HELD = 2
_COLUMNS = {"query_id": pl.String, "doc_id": pl.String, "retriever": pl.Float32, "reranker": pl.Float64}
_HOPELESS = 3  # blocks in a row of which nothing can be scored: it is not the texts


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

    @property
    def hopeless(self) -> bool:
        """Did everything fail?"""
        return bool(self.failures) and self.rows["reranker"].is_null().all()


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

    def given_up(self, task: Task, reason: str) -> Scored:
        """No candidates for any of its queries."""
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

    def __call__(self, task: Task) -> Scored:
        hits, unsearched = self._searched(task.group_start, task.group_end)
        queries = self._queries[task.start : task.end]
        found = hits[task.start - task.group_start : task.end - task.group_start]
        before = self._reranker.cut
        scores, unscored = self._rerank(queries, found)
        failures = [each for each in unsearched if each.query_id in queries.ids] + unscored
        return Scored(self._rows(queries, found, scores), failures, self._reranker.cut - before)

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


class Hopeless:
    """Blocks of which nothing could be scored wait until others show that it was the texts, not the model.

    A model, a device or a disk that has gone leaves no failures behind that the texts are blamed for: what was not
    written is scored again by the next run.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[int, Scored]] = []
        self._working = False

    def passed(self, place: int, scored: Scored) -> list[tuple[int, Scored]]:
        """What may be written now."""
        self._waiting.append((place, scored))
        if scored.hopeless:
            if len(self._waiting) == _HOPELESS:
                raise Unscorable(self._waiting[0][1].failures[0].reason)
            return []
        self._working = True
        return self.left()

    def left(self) -> list[tuple[int, Scored]]:
        """What waits when everything was tried; if nothing ever went through, it is not the texts."""
        if self._waiting and not self._working:
            raise Unscorable(self._waiting[0][1].failures[0].reason)
        ready, self._waiting = self._waiting, []
        return ready
