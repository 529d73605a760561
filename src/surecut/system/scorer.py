"""A two-stage system at work on blocks of queries, wherever it runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import polars as pl

from surecut.arrays import Float64, Int64
from surecut.system.collection import Queries
from surecut.system.isolating import Failure, isolate
from surecut.system.rerankers import Reranker
from surecut.system.retrievers import Retriever, take_up
from surecut.system.texts import TextStore
from surecut.system.topk import Hits

_GROUPS_HELD = 2


@dataclass(frozen=True)
class Task:
    """Some queries to score: `start` to `end` of a group that is searched together.

    What a retriever finds may depend, in the last bits, on the queries it is asked for together, so the group is the
    same whoever scores a part of it.
    """

    ids: tuple[str, ...]
    texts: tuple[str, ...]
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
    documents: Path
    index: Path
    depth: int

    def __call__(self) -> "Scoring":
        documents = TextStore(self.documents)
        take_up(self.retriever, self.index, documents)
        self.reranker.load(documents)
        return Scoring(self.retriever, self.reranker, documents, self.depth)


class Scoring:
    """Both stages, ready."""

    def __init__(self, retriever: Retriever, reranker: Reranker, documents: TextStore, depth: int) -> None:
        self._retriever, self._reranker = retriever, reranker
        self._documents, self._depth = documents, depth
        self._searched = lru_cache(_GROUPS_HELD)(self._search)

    def __call__(self, task: Task) -> Scored:
        hits, unsearched = self._searched(task.ids, task.texts)
        block = slice(task.start, task.end)
        queries, found = Queries(task.ids[block], task.texts[block]), hits[block]
        before = self._reranker.cut
        scores, unscored = self._rerank(queries, found)
        failures = [each for each in unsearched if each.query_id in queries.ids] + unscored
        return Scored(self._rows(queries, found, scores), failures, self._reranker.cut - before)

    def _search(self, ids: tuple[str, ...], texts: tuple[str, ...]) -> tuple[list[Hits], list[Failure]]:
        """The candidates of each query; a query that the retriever fails on has none."""

        def search(places: Int64) -> list[Hits]:
            asked = Queries([ids[place] for place in places], [texts[place] for place in places])
            return self._retriever.search(asked, self._depth)

        found = isolate(search, len(ids))
        nothing = Hits(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32))
        failures = [Failure(ids[place], None, reason) for place, reason in sorted(found.reasons.items())]
        return [found.made.get(place, nothing) for place in range(len(ids))], failures

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
        failures = [
            Failure(queries.ids[owners[pair]], self._documents.ids[int(numbers[pair])], reason)
            for pair, reason in sorted(found.reasons.items())
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
