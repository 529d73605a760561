"""A bi-encoder as second stage: the inner product of the query's vector and each candidate's."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from surecut.arrays import Float32, Float64
from surecut.system.cache import digest
from surecut.system.collection import Queries
from surecut.system.models.encoder import BiEncoder
from surecut.system.texts import TextStore
from surecut.system.topk import Hits
from surecut.system.vectors import document_vectors, inner_products
from surecut.watching import SILENT, Watch


@dataclass
class BiEncoderReranker(BiEncoder):
    """Cheap where the documents' vectors are there already."""

    pairs_per_block: int = field(default=100_000, init=False, repr=False)
    _vectors: Float32 | None = field(default=None, init=False, repr=False)

    @property
    def fingerprint(self) -> str:
        return digest("bi-encoder", self.encoder_fingerprint)

    def refuse_queries(self, queries: Queries) -> None:
        """Every query can be scored."""

    def prepare(self, documents: TextStore, watch: Watch = SILENT) -> None:
        self._vectors = document_vectors(self, documents, watch)
        self.load_models()

    def notes(self) -> list[str]:
        return []

    def rerank(self, queries: Queries, hits: Sequence[Hits], documents: TextStore) -> list[Float64]:
        assert self._vectors is not None
        vectors = self.queries(queries.texts)
        return [
            inner_products(self._vectors, each.documents, vector).astype(np.float64)
            for each, vector in zip(hits, vectors, strict=True)
        ]
