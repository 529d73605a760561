"""Dense retrieval: the documents whose vectors have the largest inner product with the query's."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from surecut.arrays import Float32, Int32, Int64
from surecut.errors import InputError
from surecut.system.cache import digest
from surecut.system.collection import Queries
from surecut.system.extras import needed
from surecut.system.models.batches import cores
from surecut.system.models.encoder import BiEncoder
from surecut.system.texts import TextStore
from surecut.system.topk import Hits, ranked
from surecut.system.vectors import document_vectors
from surecut.system.watching import SILENT, Watch

_ROWS = 262_144  # documents compared at a time, so that memory does not grow with the collection
_GRAPH = "hnsw.faiss"


@dataclass
class Dense(BiEncoder):
    """DPR and every other bi-encoder, searched by faiss: exactly, or in an HNSW graph."""

    search_by: Literal["exact", "hnsw"] = "exact"
    neighbours: int = 32  # HNSW: links a document
    ef_construction: int = 200  # HNSW: candidates while building
    ef_search: int = 1200  # HNSW: candidates while searching; at least the depth
    _vectors: Float32 | None = field(default=None, init=False, repr=False)
    _graph: Any = field(default=None, init=False, repr=False)
    _ties: Int32 | None = field(default=None, init=False, repr=False)

    @property
    def fingerprint(self) -> str:
        graph = [self.neighbours, self.ef_construction, self.ef_search] if self.search_by == "hnsw" else []
        return digest("dense", self.encoder_fingerprint, self.search_by, graph)

    def index(self, documents: TextStore, folder: Path, watch: Watch = SILENT) -> None:
        """Encode the documents (vectors are shared with whoever uses the same encoder), then link them if asked."""
        vectors = document_vectors(self, documents, watch)
        if self.search_by == "hnsw":
            graph = self._linked(vectors, watch)
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
        for start in range(0, len(vectors), 4096):
            part = np.ascontiguousarray(vectors[start : start + 4096])
            graph.add(part)
            watch.advance(len(part))
        faiss.omp_set_num_threads(cores())
        return graph

    def load(self, folder: Path, documents: TextStore) -> None:
        self._ties = documents.tie_order
        self._vectors = document_vectors(self, documents)
        if self.search_by == "hnsw":
            faiss = needed("faiss", "faiss")
            self._graph = faiss.read_index(str(folder / _GRAPH), faiss.IO_FLAG_MMAP)

    def search(self, queries: Queries, k: int) -> list[Hits]:
        assert self._ties is not None
        vectors = self.queries(queries.texts)
        scores, numbers = self._in_graph(vectors, k) if self.search_by == "hnsw" else self._in_all(vectors, k)
        found = numbers >= 0
        return [ranked(numbers[q][found[q]], scores[q][found[q]], self._ties, k) for q in range(len(queries))]

    def _in_graph(self, vectors: Float32, k: int) -> tuple[Float32, Int64]:
        if k > self.ef_search:
            raise InputError(f"ef_search = {self.ef_search} must be at least the depth, {k}")
        self._graph.hnsw.efSearch = self.ef_search
        scores, numbers = self._graph.search(vectors, k)
        return scores, numbers

    def _in_all(self, vectors: Float32, k: int) -> tuple[Float32, Int64]:
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
            best = np.argsort(-scores, axis=1, kind="stable")[:, :k]
            scores, numbers = np.take_along_axis(scores, best, 1), np.take_along_axis(numbers, best, 1)
        return scores, numbers
