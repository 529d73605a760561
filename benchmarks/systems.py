"""The simulated systems that the benchmarks run on, as arrays and as TREC files."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from surecut import Candidates, simulate

_CORPUS = 8_841_823  # passages in MS MARCO


@dataclass(frozen=True, eq=False)
class Arrays:
    """Scores and grades, queries x candidates, as a caller of the Python API has them."""

    retriever: np.ndarray
    reranker: np.ndarray
    relevance: np.ndarray

    def candidates(self) -> Candidates:
        return Candidates.from_arrays(self.retriever, self.reranker, self.relevance)

    def shuffled_scores(self) -> np.ndarray:
        """The retriever's scores, flat and in no order: what the sort that others are measured by starts from."""
        return np.random.default_rng(0).permutation(self.retriever.reshape(-1))


def simulated_arrays(queries: int, depth: int) -> Arrays:
    data = simulate("dense-electra", queries, depth)
    assert data.reranker is not None
    shape = (queries, depth)
    reranker = data.reranker.astype(np.float32)
    return Arrays(data.retriever.reshape(shape), reranker.reshape(shape), data.grades.reshape(shape))


@dataclass(frozen=True)
class Files:
    """Two TREC runs and their judgements."""

    retriever: Path
    reranker: Path
    qrels: Path

    @property
    def runs(self) -> tuple[Path, Path]:
        return self.retriever, self.reranker

    def options(self) -> list[str]:
        named = {"--retriever": self.retriever, "--reranker": self.reranker, "--qrels": self.qrels}
        return [word for option, path in named.items() for word in (option, str(path))]


def write_files(folder: Path, queries: int, depth: int) -> Files:
    """Both runs best first, so that the reranker's has the lines of each query in another order."""
    folder.mkdir()
    system = simulated_arrays(queries, depth)
    rng = np.random.default_rng(1)
    order = rng.permuted(np.tile(np.arange(depth), (queries, 1)), axis=1)
    steps = rng.integers(1, _CORPUS // depth, (queries, 1))
    documents = (rng.integers(0, _CORPUS, (queries, 1)) + order * steps) % _CORPUS
    names = rng.permutation(1_200_000)[:queries]
    best_first = np.argsort(-system.reranker, axis=1)
    files = Files(folder / "retriever.run", folder / "reranker.run", folder / "qrels.txt")
    _write_run(files.retriever, names, documents, system.retriever, "dense")
    reranked = (np.take_along_axis(each, best_first, axis=1) for each in (documents, system.reranker))
    _write_run(files.reranker, names, *reranked, "electra")
    query, rank = np.nonzero(system.relevance > 0)
    _write(files.qrels, {"query": names[query], "iteration": 0, "doc": documents[query, rank], "relevance": 1})
    return files


def _write_run(path: Path, names: np.ndarray, documents: np.ndarray, scores: np.ndarray, tag: str) -> None:
    queries, depth = scores.shape
    columns = {
        "query": np.repeat(names, depth),
        "Q0": "Q0",
        "doc": documents.reshape(-1),
        "rank": np.tile(np.arange(1, depth + 1), queries),
        "score": scores.reshape(-1).astype(np.float64),
        "tag": tag,
    }
    _write(path, columns)


def _write(path: Path, columns: dict[str, Any]) -> None:
    pl.DataFrame(columns).write_csv(path, separator=" ", include_header=False, float_precision=6)
