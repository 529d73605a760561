"""Searching 100,000 documents: the impact index and BM25, against a sparse product and bm25s' own search."""

import os
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import scipy.sparse as sp

from benchmarks.result import Result
from benchmarks.timing import fastest
from surecut.candidates import offsets_of
from surecut.system.collection import Queries
from surecut.system.impacts import ImpactIndex
from surecut.system.models.sparse import Weights
from surecut.system.retrievers import ready
from surecut.system.retrievers.bm25 import BM25
from surecut.system.texts import Document, TextStore, write_store

_DOCUMENTS, _PIECES, _K, _QUERIES = 100_000, 30_522, 1_000, 20


def run() -> list[Result]:
    return [_impacts(), _bm25()]


def _impacts() -> Result:
    random = np.random.default_rng(0)
    weights = _weights(random, _DOCUMENTS, 60, 180)
    queries = _weights(random, _QUERIES, 20, 40)
    index, ties = ImpactIndex.of(weights), np.arange(_DOCUMENTS, dtype=np.int32)
    matrix = _matrix(weights).T.tocsr()
    rows = _matrix(queries)
    ours, product = fastest(
        lambda: index.search(queries, ties, _K), lambda: [_largest(rows[[q]] @ matrix) for q in range(_QUERIES)]
    )
    return Result(
        "impact index, 100k documents, 1 query of 20-40 terms",
        ours / _QUERIES,
        "scipy sparse product and argpartition",
        product / _QUERIES,
        "faster",
        1.5,
    )


def _bm25() -> Result:
    random = np.random.default_rng(0)
    words = np.array([f"word{i}" for i in range(50_000)])
    texts = [" ".join(words[_zipf(random, words.size, 40)]) for _ in range(_DOCUMENTS)]
    asked = [" ".join(words[_zipf(random, words.size, 8)]) for _ in range(_QUERIES)]
    with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, SURECUT_CACHE=folder):
        write_store((Document(str(i), text) for i, text in enumerate(texts)), Path(folder) / "store", "benchmark")
        retriever, store = BM25(stemmer="none", stopwords="none"), TextStore(Path(folder) / "store")
        ready(retriever, store)
        theirs, tokens = _library(texts, asked)
        ours, library = fastest(
            lambda: retriever.search(Queries(asked, asked), _K),
            lambda: theirs.retrieve(tokens, k=_K, show_progress=False),
        )
    return Result(
        "BM25, 100k documents, 1 query of 8 words, ties in order",
        ours / _QUERIES,
        "bm25s' own retrieve",
        library / _QUERIES,
        "slower",
        2.0,
    )


def _library(texts: list[str], asked: list[str]) -> tuple[Any, Any]:
    import bm25s

    index = bm25s.BM25(k1=0.9, b=0.4, method="lucene")
    index.index(bm25s.tokenize(texts, stopwords=None, show_progress=False), show_progress=False)
    return index, bm25s.tokenize(asked, stopwords=None, show_progress=False)


def _zipf(random: np.random.Generator, size: int, count: int) -> Any:
    """Draws as words have it: the n-th most frequent about 1 / (n + 10) as often."""
    return np.minimum(10 * (np.exp(random.random(count) * np.log1p(size / 10)) - 1), size - 1).astype(np.int64)


def _weights(random: np.random.Generator, texts: int, fewest: int, most: int) -> Weights:
    terms = [np.unique(_zipf(random, _PIECES, int(count))) for count in random.integers(fewest, most, texts)]
    flat = np.concatenate(terms).astype(np.int32)
    return Weights(
        np.cumsum([each.size for each in terms]), flat, random.exponential(1.0, flat.size).astype(np.float32)
    )


def _matrix(weights: Weights) -> Any:
    edges = offsets_of(np.diff(weights.ends, prepend=0))
    return sp.csr_array((weights.weights, weights.terms, edges), shape=(weights.ends.size, _PIECES))


def _largest(row: Any) -> Any:
    return row.indices[np.argpartition(row.data, -min(_K, row.data.size))[-_K:]]
