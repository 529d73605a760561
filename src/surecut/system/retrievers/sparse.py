"""UniCOIL and SPLADE: learned term weights in an impact index."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from surecut.arrays import Int32
from surecut.runners import LOCAL, Runner
from surecut.system.cache import digest
from surecut.system.collection import Queries
from surecut.system.impacts import ImpactIndex, encode_documents, forget_blocks
from surecut.system.isolating import Failure, failed_documents, read_reasons
from surecut.system.models.sparse import Kind, SparseModel
from surecut.system.texts import TextStore
from surecut.system.topk import Hits
from surecut.watching import SILENT, Watch


@dataclass
class Sparse(SparseModel):
    """What UniCOIL and SPLADE share: an impact index of the documents' weights."""

    _index: ImpactIndex | None = field(default=None, init=False, repr=False)
    _ties: Int32 | None = field(default=None, init=False, repr=False)

    @cached_property
    def fingerprint(self) -> str:
        return digest("sparse", self.of_documents.fingerprint, self.of_queries.fingerprint)

    def index(self, documents: TextStore, folder: Path, watch: Watch = SILENT, runner: Runner = LOCAL) -> None:
        ImpactIndex.of(encode_documents(self, documents, folder, watch, runner)).save(folder)

    def failures(self, documents: TextStore, folder: Path) -> list[Failure]:
        return failed_documents(read_reasons(folder), documents)

    def load(self, folder: Path, documents: TextStore) -> None:
        forget_blocks(folder)
        self.of_queries.load()
        self._index = ImpactIndex.load(folder)
        self._ties = documents.tie_order

    def search(self, queries: Queries, k: int) -> list[Hits]:
        assert self._index is not None
        assert self._ties is not None
        return self._index.search(self.of_queries.queries(queries.texts), self._ties, k)


@dataclass
class UniCoil(Sparse):
    """One weight for each word piece of the text.

    score(q, d) = sum over the word pieces of q, repeats too, of weight in q * largest weight in d
    """

    kind: ClassVar[Kind] = "unicoil"


@dataclass
class Splade(Sparse):
    """Weights for the whole vocabulary: max over tokens of log(1 + relu(logit))."""

    kind: ClassVar[Kind] = "splade"
