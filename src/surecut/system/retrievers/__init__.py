"""Retrievers: index a collection once, then find the best k documents for a query."""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from surecut.runners import LOCAL, Runner
from surecut.system.cache import built, digest, intact
from surecut.system.collection import Queries
from surecut.system.isolating import Failure
from surecut.system.libraries import versions
from surecut.system.retrievers.bm25 import BM25
from surecut.system.retrievers.dense import Dense
from surecut.system.retrievers.run_file import RunRetriever
from surecut.system.retrievers.sparse import Splade, UniCoil
from surecut.system.texts import TextStore
from surecut.system.topk import Hits
from surecut.watching import SILENT, Watch


class Retriever(Protocol):
    """A first stage."""

    @property
    def fingerprint(self) -> str:
        """A hash over everything that its scores depend on, but the documents."""
        ...

    def prepare(self, documents: TextStore, watch: Watch = SILENT, runner: Runner = LOCAL) -> None:
        """Whatever an index needs of all documents that others need too, if it is not there."""
        ...

    def index(self, documents: TextStore, folder: Path, watch: Watch = SILENT, runner: Runner = LOCAL) -> None:
        """Index the documents and save the index in a folder; what an interrupted call left there may be used."""
        ...

    def failures(self, documents: TextStore, folder: Path) -> list[Failure]:
        """Documents that could not be indexed, and are never found."""
        ...

    def load(self, folder: Path, documents: TextStore) -> None:
        """Take up a saved index, memory-mapped."""
        ...

    def search(self, queries: Queries, k: int) -> list[Hits]:
        """The best k documents of each query, best first; equal scores by document id descending."""
        ...


RETRIEVERS: Mapping[str, type] = {
    "bm25": BM25,
    "dense": Dense,
    "unicoil": UniCoil,
    "splade": Splade,
    "run": RunRetriever,
}


_FORMAT = 1  # of the indexes on disk
_LIBRARIES = ("bm25s", "PyStemmer", "faiss-cpu")  # another version of what wrote an index builds it again


def indexed(retriever: Retriever, documents: TextStore, watch: Watch = SILENT, runner: Runner = LOCAL) -> Path:
    """The folder of the index, which is made if it is not there."""

    def build(folder: Path) -> None:
        retriever.index(documents, folder, watch, runner)

    retriever.prepare(documents, watch, runner)
    return built("indexes", digest(_FORMAT, versions(_LIBRARIES), retriever.fingerprint, documents.fingerprint), build)


def ready(retriever: Retriever, documents: TextStore, watch: Watch = SILENT) -> None:
    """Index the documents, or load the index that was made of them before."""
    take_up(retriever, indexed(retriever, documents, watch), documents)


def take_up(retriever: Retriever, folder: Path, documents: TextStore) -> None:
    """Load an index that is there; one that is damaged is named."""
    with intact(folder):
        retriever.load(folder, documents)
