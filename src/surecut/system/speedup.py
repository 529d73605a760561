"""What pruning saves on the clock: full against pruned reranking of the same queries, one after the other."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from surecut.arrays import Float64, Int64
from surecut.curves import Tail
from surecut.errors import InputError
from surecut.frames import from_frame
from surecut.judging import judged_values
from surecut.measures import Measure, as_measure
from surecut.system.collection import Queries
from surecut.system.ranker import Ranker
from surecut.system.runs import RunFile
from surecut.system.topk import Hits
from surecut.watching import SILENT, Watch


@dataclass(frozen=True)
class Speedup:
    """Seconds of each query in each step, and what both lists are worth."""

    candidates: Int64
    kept: Int64
    retrieving: Float64
    pruning: Float64
    full: Float64
    pruned: Float64
    largest_difference: float
    measure: str
    measured_queries: int
    quality_full: float | None
    quality_pruned: float | None

    @property
    def ratio(self) -> float:
        """Time of full reranking over time of pruning and pruned reranking."""
        return float(self.full.sum() / (self.pruning.sum() + self.pruned.sum()))

    @property
    def pruning_share(self) -> float | None:
        """Time of pruning over the reranking time it saves; none where nothing was pruned or saved."""
        saved = float(self.full.sum() - self.pruned.sum())
        pruned = bool((self.kept < self.candidates).any())
        return float(self.pruning.sum()) / saved if pruned and saved > 0 else None

    def to_dict(self) -> dict[str, Any]:
        """Plain figures, times in milliseconds."""
        steps = {"retrieve": self.retrieving, "prune": self.pruning, "full": self.full, "pruned": self.pruned}
        return {
            "queries": int(self.kept.size),
            "mean_candidates": float(self.candidates.mean()),
            "mean_kept": float(self.kept.mean()),
            "candidates_ratio": float(self.candidates.sum() / max(self.kept.sum(), 1)),
            "reranking_ratio": self.ratio,
            "end_to_end_ratio": float(
                (self.retrieving + self.full).sum() / (self.retrieving + self.pruning + self.pruned).sum()
            ),
            "pruning_share_of_saved": self.pruning_share,
            "milliseconds": {name: _summary(1000 * seconds) for name, seconds in steps.items()},
            "largest_difference": self.largest_difference,
            "measure": self.measure,
            "measured_queries": self.measured_queries,
            "quality_full": self.quality_full,
            "quality_pruned": self.quality_pruned,
        }


def measure_speedup(ranker: Ranker, queries: Queries, watch: Watch = SILENT) -> Speedup:
    """Rerank every query's candidates in full and pruned; which comes first alternates."""
    if not len(queries):
        raise InputError("no queries to measure on")
    if isinstance(ranker.recipe.reranker, RunFile):
        raise InputError(f"{ranker.recipe.path}: the reranker is a run file, so there is no reranking to time")
    _warm_up(ranker, queries)
    watch.stage("reranking twice", len(queries))
    rows, times, counts = [], [], []
    for place in range(len(queries)):
        query = queries[place : place + 1]
        (hits,), retrieving = _timed(ranker.retrieve, query)
        kept, pruning = _timed(ranker.prune, hits)
        parts = {"full": hits, "pruned": Hits(hits.documents[:kept], hits.scores[:kept])}
        found: dict[str, tuple[Any, float]] = {}
        for name in ("full", "pruned") if place % 2 else ("pruned", "full"):
            found[name] = _timed(_reranked, ranker, query, parts[name])
        times.append((retrieving, pruning, found["full"][1], found["pruned"][1]))
        counts.append((hits.documents.size, kept))
        rows.append(_rows(ranker, query.ids[0], hits, found["full"][0], found["pruned"][0]))
        watch.advance(1, hits.documents.size + kept)
    retrieving_, pruning_, full, pruned = np.array(times).T
    candidates, kept_ = np.array(counts, dtype=np.int64).T
    every = pl.concat(rows)
    apart = np.abs((every["reranker"] - every["pruned"]).fill_nan(0.0).to_numpy()).max(initial=0.0)
    return Speedup(
        candidates, kept_, retrieving_, pruning_, full, pruned, float(apart), *_quality(ranker, every, queries, kept_)
    )


def _warm_up(ranker: Ranker, queries: Queries) -> None:
    """The first call of everything is slow: compiled code, mapped files, caches."""
    first = queries[:1]
    hits = ranker.retrieve(first)[0]
    ranker.prune(hits)
    _reranked(ranker, first, hits)


def _reranked(ranker: Ranker, query: Queries, hits: Hits) -> Float64:
    return ranker.recipe.reranker.rerank(query, [hits], ranker.documents)[0]


def _timed(work: Callable[..., Any], *given: Any) -> tuple[Any, float]:
    start = time.perf_counter()
    result = work(*given)
    return result, time.perf_counter() - start


def _rows(ranker: Ranker, query: str, hits: Hits, full: Float64, pruned: Float64) -> pl.DataFrame:
    """Both rerankings; a candidate that was pruned has no second score."""
    return pl.DataFrame(
        {
            "query_id": pl.Series([query] * hits.documents.size, dtype=pl.String),
            "doc_id": pl.Series(ranker.documents.ids.take(hits.documents), dtype=pl.String),
            "retriever": hits.scores,
            "reranker": full,
            "pruned": np.concatenate((pruned, np.full(full.size - pruned.size, np.nan))),
        }
    )


def _quality(
    ranker: Ranker, rows: pl.DataFrame, queries: Queries, kept: Int64
) -> tuple[str, int, float | None, float | None]:
    """The certificate's measure of both lists as they were reranked, by ir-measures; none without judgements."""
    measure = _judgeable(ranker.certificate.measure)
    qrels = ranker.recipe.collection.qrels
    if qrels is None or not rows.height:
        return str(measure), 0, None, None
    judged = qrels.filter(pl.col("query_id").is_in(list(queries.ids)))
    survivors = dict(zip(queries.ids, kept.tolist(), strict=True))
    means = []
    for column in ("reranker", "pruned"):
        data = from_frame(rows.select("query_id", "doc_id", "retriever", reranker=pl.col(column).fill_nan(0.0)), judged)
        data = data.take(np.flatnonzero(data.judged))
        if not len(data):
            return str(measure), 0, None, None
        assert data.reranker is not None
        sizes = data.lengths if column == "reranker" else np.array([survivors[query] for query in data.query_ids])
        final = ranker.final_scores(data.retriever, data.reranker)
        tail: Tail = "append" if ranker.certificate.tail == "append" else "drop"
        means.append(float(judged_values(data, final, sizes, tail, measure).mean()))
    return str(measure), len(data), means[0], means[1]


def _judgeable(name: str) -> Measure:
    """The certificate's measure, or RR@10 where that is a function or an agreement."""
    try:
        measure = as_measure(name)
    except InputError:
        measure = as_measure("RR@10")
    assert isinstance(measure, Measure)
    return measure


def _summary(values: Float64) -> dict[str, float]:
    p50, p95 = np.quantile(values, (0.5, 0.95)).tolist()
    return {"total": float(values.sum()), "mean": float(values.mean()), "p50": p50, "p95": p95}
