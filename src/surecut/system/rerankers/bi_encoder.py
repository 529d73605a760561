"""A bi-encoder as second stage: the inner product of the query's vector and each candidate's."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from surecut.arrays import Float32, Float64, Int64
from surecut.runners import LOCAL, Runner
from surecut.system.cache import digest
from surecut.system.collection import Queries
from surecut.system.models.encoder import BiEncoder
from surecut.system.texts import TextStore
from surecut.system.topk import Hits
from surecut.system.vectors import Vectors, document_vectors, encode_documents, inner_products
from surecut.watching import SILENT, Watch


@dataclass
class BiEncoderReranker(BiEncoder):
    """Cheap where the documents' vectors are there already."""

    pairs_per_block: int = field(default=100_000, init=False, repr=False)
    cut: int = field(default=0, init=False, repr=False)
    _vectors: Vectors | None = field(default=None, init=False, repr=False)

    @property
    def fingerprint(self) -> str:
        return digest("bi-encoder", self.encoder_fingerprint)

    def refuse_queries(self, queries: Queries) -> None:
        """Every query can be scored."""

    def prepare(self, documents: TextStore, watch: Watch = SILENT, runner: Runner = LOCAL) -> None:
        encode_documents(self, documents, watch, runner)

    def load(self, documents: TextStore) -> None:
        self._vectors = document_vectors(self, documents)
        self.load_models()

    def notes(self, cut: int) -> list[str]:
        return []

    def rerank(self, queries: Queries, hits: Sequence[Hits], documents: TextStore) -> list[Float64]:
        assert self._vectors is not None
        vectors = self.queries(queries.texts)
        return [self._products(each.documents, vector) for each, vector in zip(hits, vectors, strict=True)]

    def _products(self, numbers: Int64, query: Float32) -> Float64:
        """The products; nan for a document that has no vector."""
        assert self._vectors is not None
        products = inner_products(self._vectors.rows, numbers, query).astype(np.float64)
        if self._vectors.reasons:
            products[np.isin(numbers, self._vectors.failed)] = np.nan
        return products
