"""Rerankers: every one gives each candidate a score of its own, whatever the others are."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from surecut.arrays import Float64
from surecut.runners import LOCAL, Runner
from surecut.system.collection import Queries
from surecut.system.rerankers.bi_encoder import BiEncoderReranker
from surecut.system.rerankers.cross_encoder import CrossEncoder
from surecut.system.rerankers.run_file import RunReranker
from surecut.system.texts import TextStore
from surecut.system.topk import Hits
from surecut.watching import SILENT, Watch


class Reranker(Protocol):
    """A second stage."""

    pairs_per_block: int
    """About as many candidates are scored between two writes to disk."""

    @property
    def fingerprint(self) -> str:
        """A hash over everything that its scores depend on, but the documents."""
        ...

    def refuse_queries(self, queries: Queries) -> None:
        """Say no to queries that cannot be scored, before anything is computed."""
        ...

    cut: int
    """So many documents were longer than the model takes, and were cut."""

    def prepare(self, documents: TextStore, watch: Watch = SILENT, runner: Runner = LOCAL) -> None:
        """Whatever is done once for all documents, and kept."""
        ...

    def load(self, documents: TextStore) -> None:
        """Take up what scoring needs."""
        ...

    def rerank(self, queries: Queries, hits: Sequence[Hits], documents: TextStore) -> list[Float64]:
        """A score for each candidate of each query, in the order given; nan for a document it knows nothing of."""
        ...

    def notes(self, cut: int) -> list[str]:
        """What a user should know of scores for which so many documents were cut."""
        ...


RERANKERS: Mapping[str, type] = {
    "cross-encoder": CrossEncoder,
    "bi-encoder": BiEncoderReranker,
    "run": RunReranker,
}
