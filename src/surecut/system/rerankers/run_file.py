"""A reranker that ran elsewhere: its scores from a TREC run."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from surecut.arrays import Float64, Int64
from surecut.errors import InputError
from surecut.system.collection import Queries
from surecut.system.runs import RunFile
from surecut.system.texts import TextStore
from surecut.system.topk import Hits


@dataclass
class RunReranker(RunFile):
    """Looks every candidate's score up."""

    pairs_per_block: int = field(default=1_000_000, init=False, repr=False)
    cut: int = field(default=0, init=False, repr=False)

    def refuse_queries(self, queries: Queries) -> None:
        """Every query can be scored."""

    def load(self, documents: TextStore) -> None:
        self.read(documents)

    def notes(self, cut: int) -> list[str]:
        return []

    def rerank(self, queries: Queries, hits: Sequence[Hits], documents: TextStore) -> list[Float64]:
        return [
            self._scores_of(query, each.documents, documents) for query, each in zip(queries.ids, hits, strict=True)
        ]

    def _scores_of(self, query: str, wanted: Int64, documents: TextStore) -> Float64:
        numbers, scores = self.of(query)
        places = np.minimum(np.searchsorted(numbers, wanted), max(numbers.size - 1, 0))
        if wanted.size and (not numbers.size or np.any(numbers[places] != wanted)):
            lost = wanted[0] if not numbers.size else wanted[numbers[places] != wanted][0]
            raise InputError(
                f"{self.run}: no score for document '{documents.ids[int(lost)]}' of query '{query}'; the reranker's "
                "run must hold every candidate (lower the depth, or rerank deeper)"
            )
        return scores[places].astype(np.float64)
