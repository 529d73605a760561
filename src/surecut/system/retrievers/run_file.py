"""A first stage that ran elsewhere: Pyserini, Anserini, Elasticsearch, Vespa, ... by its TREC run."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from surecut.arrays import Int32
from surecut.runners import LOCAL, Runner
from surecut.system.collection import Queries
from surecut.system.isolating import Failure
from surecut.system.runs import RunFile
from surecut.system.texts import TextStore
from surecut.system.topk import Hits, ranked
from surecut.watching import SILENT, Watch


@dataclass
class RunRetriever(RunFile):
    """Finds what the run found; it cannot answer a query that is not in it."""

    _ties: Int32 | None = field(default=None, init=False, repr=False)

    def index(self, documents: TextStore, folder: Path, watch: Watch = SILENT, runner: Runner = LOCAL) -> None:
        """Nothing to index."""

    def failures(self, documents: TextStore, folder: Path) -> list[Failure]:
        return []

    def load(self, folder: Path, documents: TextStore) -> None:
        self._ties = documents.tie_order
        self.read(documents)

    def search(self, queries: Queries, k: int) -> list[Hits]:
        assert self._ties is not None
        found = (self.of(query) for query in queries.ids)
        return [ranked(numbers, scores.astype(np.float32), self._ties, k) for numbers, scores in found]
