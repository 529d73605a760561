"""An impact index: for every word piece the documents that hold it and its weight there, as one sparse matrix.

The score of a document is the sum over the query's word pieces of weight in query times weight in document, so
searching is a sparse vector times a sparse matrix.
"""

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from surecut.arrays import Int32
from surecut.system.models.sparse import SparseEncoder, Weights
from surecut.system.texts import TextStore
from surecut.system.topk import Hits, best
from surecut.system.watching import SILENT, Watch

_BLOCK = 512
_PARTS = ("data", "indices", "indptr")


class ImpactIndex:
    """word pieces x documents, memory-mapped."""

    def __init__(self, matrix: Any) -> None:
        self._matrix = matrix

    @classmethod
    def of(cls, weights: Weights) -> "ImpactIndex":
        """Turn weights by document into weights by word piece."""
        documents = weights.ends.size
        pieces = int(weights.terms.max(initial=0)) + 1
        starts = np.concatenate(([0], weights.ends)).astype(np.int64)
        by_document = sp.csr_array((weights.weights, weights.terms, starts), shape=(documents, pieces))
        return cls(by_document.T.tocsr())

    def save(self, folder: Path) -> None:
        for part in _PARTS:
            np.save(folder / f"impacts-{part}.npy", getattr(self._matrix, part))
        np.save(folder / "impacts-shape.npy", np.array(self._matrix.shape))

    @classmethod
    def load(cls, folder: Path) -> "ImpactIndex":
        data, indices, indptr = (np.load(folder / f"impacts-{part}.npy", mmap_mode="r") for part in _PARTS)
        shape = tuple(np.load(folder / "impacts-shape.npy").tolist())
        return cls(sp.csr_array((data, indices, indptr), shape=shape, copy=False))

    def search(self, queries: Weights, tie_order: Int32, k: int) -> list[Hits]:
        starts = np.concatenate(([0], queries.ends)).astype(np.int64)
        known = np.where(queries.terms < self._matrix.shape[0], queries.weights, 0)
        terms = np.minimum(queries.terms, self._matrix.shape[0] - 1)
        rows = sp.csr_array((known, terms, starts), shape=(queries.ends.size, self._matrix.shape[0]))
        return [self._find(rows[[query]], tie_order, k) for query in range(queries.ends.size)]

    def _find(self, query: Any, tie_order: Int32, k: int) -> Hits:
        found = query @ self._matrix
        hits = best(found.data, tie_order[found.indices], k, floor=0.0)
        return Hits(found.indices[hits.documents].astype(np.int64), hits.scores)


def encode_documents(encoder: SparseEncoder, documents: TextStore, folder: Path, watch: Watch = SILENT) -> Weights:
    """All documents' weights, block by block on disk, so that an interrupted encoding goes on where it was."""
    starts = range(0, len(documents), _BLOCK)
    done = [start for start in starts if _block(folder, start).exists()]
    watch.stage("weighing documents", len(documents), len(done) * _BLOCK)
    for start in starts:
        if not _block(folder, start).exists():
            places = range(start, min(start + _BLOCK, len(documents)))
            _write(_block(folder, start), encoder.encode(documents.texts.take(places)))
            watch.advance(len(places))
    parts = [np.load(_block(folder, start)) for start in starts]
    lengths = np.concatenate([np.diff(part["ends"], prepend=0) for part in parts])
    weights = Weights(
        np.cumsum(lengths),
        np.concatenate([part["terms"] for part in parts]),
        np.concatenate([part["weights"] for part in parts]),
    )
    for start in starts:
        _block(folder, start).unlink()
    return weights


def _block(folder: Path, start: int) -> Path:
    return folder / f"weights-{start:09d}.npz"


def _write(path: Path, weights: Weights) -> None:
    temporary = path.with_suffix(".part.npz")
    np.savez(temporary, ends=weights.ends, terms=weights.terms, weights=weights.weights)
    temporary.replace(path)
