"""An impact index: for every word piece the documents that hold it, and its weight there.

The score of a document is the sum over the query's word pieces of weight in the query times weight in the document.
"""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from surecut.arrays import Float32, Int32, Int64
from surecut.candidates import offsets_of
from surecut.files import write_atomically
from surecut.kernels.impacts import add_impacts
from surecut.runners import LOCAL, Runner
from surecut.system.blocks import Encoding, blocks_of
from surecut.system.isolating import halves, keep_reasons
from surecut.system.models.sparse import SparseModel, Weights
from surecut.system.texts import TextStore
from surecut.system.topk import Hits, best
from surecut.watching import SILENT, Watch

_PARTS = ("starts", "documents", "impacts")
_NO_WEIGHTS = Weights(np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0, np.float32))


@dataclass(frozen=True)
class ImpactIndex:
    """Postings by word piece: starts[t] .. starts[t + 1] are those of piece t, memory-mapped."""

    starts: Int64
    documents: Int32
    impacts: Float32
    size: int  # documents in the collection

    @classmethod
    def of(cls, weights: Weights) -> "ImpactIndex":
        """Turn weights by document into weights by word piece."""
        size, pieces = weights.ends.size, int(weights.terms.max(initial=0)) + 1
        by_document = sp.csr_array(
            (weights.weights, weights.terms, offsets_of(np.diff(weights.ends, prepend=0))), shape=(size, pieces)
        )
        by_piece = by_document.tocsc()
        return cls(by_piece.indptr.astype(np.int64), by_piece.indices.astype(np.int32), by_piece.data, size)

    def save(self, folder: Path) -> None:
        for name in _PARTS:
            np.save(folder / f"{name}.npy", getattr(self, name))
        np.save(folder / "size.npy", self.size)

    @classmethod
    def load(cls, folder: Path) -> "ImpactIndex":
        starts, documents, impacts = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in _PARTS)
        return cls(starts, documents, impacts, int(np.load(folder / "size.npy")))

    def search(self, queries: Weights, tie_order: Int32, k: int) -> list[Hits]:
        """The k documents with the highest sums; those that share no word piece with the query are no match."""
        edges = offsets_of(np.diff(queries.ends, prepend=0))
        return [
            self._find(queries.terms[low:high], queries.weights[low:high], tie_order, k)
            for low, high in pairwise(edges.tolist())
        ]

    def _find(self, terms: Int32, weights: Float32, tie_order: Int32, k: int) -> Hits:
        known = terms < self.starts.size - 1
        scores = np.zeros(self.size, dtype=np.float32)
        add_impacts(self.starts, self.documents, self.impacts, terms[known], weights[known], scores)
        return best(scores, tie_order, k, floor=0.0)


@dataclass(frozen=True)
class _Weigher:
    """Weighs blocks of documents, wherever it is."""

    model: SparseModel
    documents: Path

    def __call__(self) -> "_Weighing":
        return _Weighing(Encoding(self._weights, TextStore(self.documents)))

    def divided(self, block: range) -> list[range]:
        return halves(block)

    def joined(self, made: Sequence[tuple[Weights, dict[int, str]]]) -> tuple[Weights, dict[int, str]]:
        reasons = {number: reason for _, failed in made for number, reason in failed.items()}
        return Weights.joined([weights for weights, _ in made]), reasons

    def given_up(self, block: range, reason: str) -> tuple[Weights, dict[int, str]]:
        return Weights.joined([_NO_WEIGHTS] * len(block)), dict.fromkeys(block, reason)

    def _weights(self, texts: list[str]) -> list[Weights]:
        return self.model.of_documents.documents(texts).one_by_one()


@dataclass(frozen=True, eq=False)
class _Weighing:
    encoding: Encoding[Weights]

    def __call__(self, block: range) -> tuple[Weights, dict[int, str]]:
        """A document that the model fails on has no weights, so that no query finds it."""
        found = self.encoding(block)
        return Weights.joined([found.made.get(number, _NO_WEIGHTS) for number in block]), found.reasons

    def alive(self) -> bool:
        return self.encoding.alive()


def encode_documents(
    model: SparseModel, documents: TextStore, folder: Path, watch: Watch = SILENT, runner: Runner = LOCAL
) -> Weights:
    """All documents' weights, block by block on disk, so that an interrupted encoding goes on where it was."""
    blocks = blocks_of(len(documents))
    missing = [block for block in blocks if not _file(folder, block).exists()]
    watch.stage("weighing documents", len(documents), len(documents) - sum(map(len, missing)))
    for place, (weights, reasons) in runner.infer(_Weigher(model, documents.folder), missing):
        block = missing[place]
        keep_reasons(folder, block, reasons)
        _write(_file(folder, block), weights)
        watch.advance(len(block))
    return _together(folder, blocks, len(documents))


def _together(folder: Path, blocks: Sequence[range], size: int) -> Weights:
    """All blocks as one, each read twice (to count, then to copy) and closed again."""
    lengths = np.empty(size, dtype=np.int64)
    for block in blocks:
        with np.load(_file(folder, block)) as part:
            lengths[block.start : block.stop] = np.diff(part["ends"], prepend=0)
    ends = np.cumsum(lengths)
    terms, weights = np.empty(int(ends[-1]), dtype=np.int32), np.empty(int(ends[-1]), dtype=np.float32)
    place = 0
    for block in blocks:
        with np.load(_file(folder, block)) as part:
            following = place + part["terms"].size
            terms[place:following], weights[place:following] = part["terms"], part["weights"]
            place = following
    return Weights(ends, terms, weights)


def forget_blocks(folder: Path) -> None:
    """Remove what the encoding left, once the index is whole."""
    for path in folder.glob("weights-*.npz"):
        path.unlink(missing_ok=True)  # another process may be at it too


def _file(folder: Path, block: range) -> Path:
    return folder / f"weights-{block.start:09d}-{block.stop:09d}.npz"


def _write(path: Path, weights: Weights) -> None:
    content = io.BytesIO()
    np.savez(content, ends=weights.ends, terms=weights.terms, weights=weights.weights)
    write_atomically(path, content.getvalue())
