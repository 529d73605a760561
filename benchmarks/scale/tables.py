"""Simulated score tables of any size, written part by part."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from surecut import simulate
from surecut.frames import from_frame
from surecut.io.table import as_parquet, judgements, to_frame

ROWS_A_PART = 1_000_000
_CORPUS = 8_841_823  # passages in MS MARCO


def simulated_table(root: Path, queries: int, depth: int) -> Path:
    """A table of so many queries; one that is there already is left alone."""
    folder = root / f"{queries}x{depth}"
    if (folder / "meta.json").exists():
        return folder
    (folder / "candidates").mkdir(parents=True, exist_ok=True)
    size = min(queries, ROWS_A_PART // depth)
    qrels = []
    for part, first in enumerate(range(0, queries, size)):
        frame, judged = _part(first, min(size, queries - first), depth, seed=part)
        (folder / "candidates" / f"part-{part:05d}.parquet").write_bytes(as_parquet(frame))
        qrels.append(judged)
    (folder / "qrels.parquet").write_bytes(as_parquet(pl.concat(qrels).sort("query_id", "doc_id")))
    described = {"depth": depth, "parts": len(qrels), "fingerprints": {}}
    (folder / "meta.json").write_text(json.dumps(described) + "\n")
    return folder


def _part(first: int, queries: int, depth: int, seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Some queries with document numbers of their own, in retriever order as `surecut score` writes them."""
    data, rng = simulate("dense-electra", queries, depth, seed=seed), np.random.default_rng(seed)
    order = rng.permuted(np.tile(np.arange(depth), (queries, 1)), axis=1)
    steps = rng.integers(1, _CORPUS // depth, (queries, 1))
    documents = (rng.integers(0, _CORPUS, (queries, 1)) + order * steps) % _CORPUS
    names = np.array([f"q{first + number}" for number in range(queries)], dtype=object)
    named = replace(data, query_ids=names, doc_ids=pl.Series(documents.reshape(-1)).cast(pl.String))
    ordered = from_frame(to_frame(named), judgements(named))
    return to_frame(ordered), judgements(ordered)
