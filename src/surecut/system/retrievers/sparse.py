"""UniCOIL and SPLADE: learned term weights in an impact index."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from surecut.arrays import Int32
from surecut.system.cache import digest
from surecut.system.collection import Queries
from surecut.system.impacts import ImpactIndex, encode_documents
from surecut.system.models.sparse import Kind, SparseEncoder, load_sparse
from surecut.system.texts import TextStore
from surecut.system.topk import Hits
from surecut.system.watching import SILENT, Watch


@dataclass
class Sparse:
    """What UniCOIL and SPLADE share."""

    model: str
    query_model: str | None = None
    max_length: int | None = None
    batch_size: int | None = None
    device: str | None = None
    _index: ImpactIndex | None = field(default=None, init=False, repr=False)
    _ties: Int32 | None = field(default=None, init=False, repr=False)
    kind: ClassVar[Kind]

    @cached_property
    def fingerprint(self) -> str:
        return digest("sparse", self._of_documents.fingerprint, self._of_queries.fingerprint)

    def index(self, documents: TextStore, folder: Path, watch: Watch = SILENT) -> None:
        ImpactIndex.of(encode_documents(self._of_documents, documents, folder, watch)).save(folder)

    def load(self, folder: Path, documents: TextStore) -> None:
        self._index = ImpactIndex.load(folder)
        self._ties = documents.tie_order

    def search(self, queries: Queries, k: int) -> list[Hits]:
        assert self._index is not None
        assert self._ties is not None
        return self._index.search(self._of_queries.encode(queries.texts), self._ties, k)

    @cached_property
    def _of_documents(self) -> SparseEncoder:
        return load_sparse(self.model, self.kind, self.max_length, self.batch_size, self.device)

    @cached_property
    def _of_queries(self) -> SparseEncoder:
        if self.query_model is None:
            return self._of_documents
        return load_sparse(self.query_model, self.kind, self.max_length, self.batch_size, self.device)


@dataclass
class UniCoil(Sparse):
    """One weight for each word piece of the text, the largest where it is repeated."""

    kind: ClassVar[Kind] = "unicoil"


@dataclass
class Splade(Sparse):
    """Weights for the whole vocabulary: max over tokens of log(1 + relu(logit))."""

    kind: ClassVar[Kind] = "splade"
