"""Compact copies of score tables, as they ship: depth 100, no text."""

import json
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.real.systems import System
from surecut.files import write_atomically
from surecut.io.table import as_parquet, read_meta

DEPTH = 100
_LEVEL = 19  # of compression
DATA = Path(__file__).parents[2] / "src" / "surecut" / "data"


def ship(system: System, table: Path) -> int:
    """Write the compact copy; how many bytes it takes."""
    folder = DATA / system.name
    folder.mkdir(parents=True, exist_ok=True)
    rows = pl.concat([pl.read_parquet(part) for part in sorted((table / "candidates").glob("part-*.parquet"))])
    queries = rows["query_id"].unique(maintain_order=True).head(system.shipped_queries or rows.height)
    rows = rows.filter(pl.col("query_id").is_in(queries.to_list()) & (pl.int_range(pl.len()).over("query_id") < DEPTH))
    qrels = pl.read_parquet(table / "qrels.parquet")
    if system.shipped_queries is not None:
        qrels = qrels.filter(pl.col("query_id").is_in(queries.to_list()))
    write_atomically(folder / "candidates.parquet", as_parquet(rows, _LEVEL))
    write_atomically(folder / "qrels.parquet", as_parquet(qrels, _LEVEL))
    described = _described(system, read_meta(table), queries.len())
    write_atomically(folder / "meta.json", json.dumps(described, indent=2, sort_keys=True) + "\n")
    return sum(path.stat().st_size for path in folder.iterdir())


def _described(system: System, meta: dict[str, Any], queries: int) -> dict[str, Any]:
    """What holds for the copy, and apart from it what holds for the whole table only."""
    fingerprints = dict(meta["fingerprints"])
    return {
        **{name: meta[name] for name in ("name", "recipe", "surecut", "documents")},
        "made_by": f"surecut score recipes/{system.recipe}.toml, cut to depth {DEPTH} and to these queries",
        "depth": min(DEPTH, meta["depth"]),
        "queries": queries,
        "whole_table": {
            **{name: meta[name] for name in ("depth", "queries", "queries_without_candidates", "quality")},
            "fingerprint_of_queries": fingerprints.pop("queries"),
        },
        "fingerprints": fingerprints,
    }
