"""Dense retrieval: the documents whose vectors have the largest inner product with the query's."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from surecut.arrays import Float32, Int32, Int64
from surecut.errors import InputError
from surecut.extras import needed
from surecut.runners import LOCAL, Runner
from surecut.runners.threads import cores
from surecut.system.cache import digest
from surecut.system.collection import Queries
from surecut.system.isolating import Failure, failed_documents, keep_reasons, read_reasons
from surecut.system.models.encoder import BiEncoder
from surecut.system.texts import TextStore
from surecut.system.topk import Hits, best, ranked
from surecut.system.vectors import document_vectors, encode_documents, inner_products
from surecut.watching import SILENT, Watch

_ROWS = 262_144  # documents compared at a time, so that memory does not grow with the collection
_PIECE = 16_384  # documents scored at a time in double precision
_SPARE = 32  # found beyond the depth, so that rounding in faiss decides nothing
_GRAPH = "hnsw.faiss"


@dataclass
class Dense(BiEncoder):
    """DPR and every other bi-encoder, searched by faiss: exactly, or in an HNSW graph."""

    search_by: Literal["exact", "hnsw"] = "exact"
    neighbours: int = 32  # HNSW: links a document
    ef_construction: int = 200  # HNSW: candidates while building
    ef_search: int = 1200  # HNSW: candidates while searching; at least the depth
    _vectors: Float32 | None = field(default=None, init=False, repr=False)
    _failed: Int64 = field(default_factory=lambda: np.empty(0, np.int64), init=False, repr=False)
    _graph: Any = field(default=None, init=False, repr=False)
    _ties: Int32 | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.neighbours < 2 or self.ef_construction < 1 or self.ef_search < 1:
            raise InputError("HNSW needs at least 2 neighbours, and ef_construction and ef_search of at least 1")

    @property
    def fingerprint(self) -> str:
        graph = [self.neighbours, self.ef_construction, self.ef_search] if self.search_by == "hnsw" else []
        return digest("dense", self.encoder_fingerprint, self.search_by, graph)

    @property
    def libraries(self) -> tuple[str, ...]:
        return *super().libraries, "faiss-cpu"

    def prepare(self, documents: TextStore, watch: Watch = SILENT, runner: Runner = LOCAL) -> None:
        """Encode the documents; vectors are shared with whoever uses the same encoder."""
        encode_documents(self, documents, watch, runner)

    def index(self, documents: TextStore, folder: Path, watch: Watch = SILENT, runner: Runner = LOCAL) -> None:
        """Link the vectors if asked, and note which documents have none."""
        vectors = document_vectors(self, documents)
        keep_reasons(folder, range(len(documents)), vectors.reasons)
        if self.search_by == "hnsw":
            graph = self._linked(vectors.rows, watch)
            try:
                needed("faiss", "faiss").write_index(graph, str(folder / _GRAPH))
            except RuntimeError as error:  # what faiss raises when a disk is full
                raise InputError(f"{folder / _GRAPH}: cannot be written ({str(error).splitlines()[0]})") from None

    def _linked(self, vectors: Float32, watch: Watch) -> Any:
        faiss = needed("faiss", "faiss")
        watch.stage("linking vectors", len(vectors))
        graph = faiss.IndexHNSWFlat(vectors.shape[1], self.neighbours, faiss.METRIC_INNER_PRODUCT)
        graph.hnsw.efConstruction = self.ef_construction
        faiss.omp_set_num_threads(1)  # links made at the same time would differ from run to run
        try:
            for start in range(0, len(vectors), 4096):
                part = np.ascontiguousarray(vectors[start : start + 4096])
                graph.add(part)
                watch.advance(len(part))
        finally:
            faiss.omp_set_num_threads(cores())
        return graph

    def failures(self, documents: TextStore, folder: Path) -> list[Failure]:
        return failed_documents(read_reasons(folder), documents)

    def load(self, folder: Path, documents: TextStore) -> None:
        self._ties = documents.tie_order
        vectors = document_vectors(self, documents)
        if vectors.reasons != read_reasons(folder):
            raise ValueError("it was made of other vectors")
        self._vectors, self._failed = vectors.rows, vectors.failed
        self.load_models()
        if self.search_by == "hnsw":
            faiss = needed("faiss", "faiss")
            self._graph = faiss.read_index(str(folder / _GRAPH), faiss.IO_FLAG_MMAP)

    def search(self, queries: Queries, k: int) -> list[Hits]:
        """faiss finds a few more than k, which are scored anew one by one: its own last bits depend on the batch."""
        assert self._vectors is not None
        if self.search_by == "hnsw" and k > self.ef_search:
            raise InputError(f"ef_search = {self.ef_search} must be at least the depth, {k}")
        vectors = self.queries(queries.texts)
        wanted = min(k + _SPARE + self._failed.size, len(self._vectors))
        found = self._in_graph(vectors, wanted) if self.search_by == "hnsw" else self._in_all(vectors, wanted)
        return [self._best(self._usable(numbers), vector, k) for numbers, vector in zip(found, vectors, strict=True)]

    def _usable(self, numbers: Int64) -> Int64:
        """Found documents, but for those that have no vector."""
        found = numbers[numbers >= 0]
        return found[~np.isin(found, self._failed)] if self._failed.size else found

    def _best(self, numbers: Int64, query: Float32, k: int) -> Hits:
        assert self._ties is not None
        assert self._vectors is not None
        scores = inner_products(self._vectors, numbers, query)
        hits = ranked(numbers, scores, self._ties, k)
        cut_off = hits.scores.size == k < numbers.size < len(self._vectors)
        if self.search_by == "exact" and cut_off and scores.min() == hits.scores[-1]:
            return self._best_of_all(query, k)  # so many are equal that faiss may have left the better ids out
        return hits

    def _best_of_all(self, query: Float32, k: int) -> Hits:
        assert self._ties is not None
        assert self._vectors is not None
        size = len(self._vectors)
        pieces = (np.arange(start, min(start + _PIECE, size)) for start in range(0, size, _PIECE))
        scores = np.concatenate([inner_products(self._vectors, piece, query) for piece in pieces])
        scores[self._failed] = -np.inf
        return best(scores, self._ties, k)

    def _in_graph(self, vectors: Float32, k: int) -> Int64:
        self._graph.hnsw.efSearch = max(self.ef_search, k)
        numbers: Int64 = self._graph.search(vectors, k)[1]
        return numbers

    def _in_all(self, vectors: Float32, k: int) -> Int64:
        """The best of each slice of documents, then the best of those."""
        assert self._vectors is not None
        faiss = needed("faiss", "faiss")
        scores = np.empty((len(vectors), 0), dtype=np.float32)
        numbers = np.empty((len(vectors), 0), dtype=np.int64)
        for start in range(0, len(self._vectors), _ROWS):
            part = np.ascontiguousarray(self._vectors[start : start + _ROWS])
            here, there = faiss.knn(vectors, part, min(k, len(part)), metric=faiss.METRIC_INNER_PRODUCT)
            scores = np.concatenate((scores, here), axis=1)
            numbers = np.concatenate((numbers, there + start), axis=1)
            order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
            scores, numbers = np.take_along_axis(scores, order, 1), np.take_along_axis(numbers, order, 1)
        return numbers
