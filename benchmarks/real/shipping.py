"""Compact copies of score tables, as they ship: depth 100, scores as 32-bit floats (what the models give)."""

import io
import json
from pathlib import Path

import polars as pl

from benchmarks.real.systems import System
from surecut.files import write_atomically
from surecut.io.table import read_meta

DEPTH = 100
DATA = Path(__file__).parents[2] / "src" / "surecut" / "data"


def ship(system: System, table: Path) -> int:
    """Write the compact copy; how many bytes it takes."""
    folder = DATA / system.name
    folder.mkdir(parents=True, exist_ok=True)
    rows = pl.concat([pl.read_parquet(part) for part in sorted((table / "candidates").glob("part-*.parquet"))])
    queries = rows["query_id"].unique(maintain_order=True).head(system.shipped_queries or rows.height)
    rows = rows.filter(
        pl.col("query_id").is_in(queries.to_list()) & (pl.int_range(pl.len()).over("query_id") < DEPTH)
    ).with_columns(pl.col("reranker").cast(pl.Float32))
    qrels = pl.read_parquet(table / "qrels.parquet")
    if system.shipped_queries is not None:
        qrels = qrels.filter(pl.col("query_id").is_in(queries.to_list()))
    meta = read_meta(table)
    meta["whole_table"] = {name: meta[name] for name in ("depth", "queries", "quality")}
    meta |= {"depth": min(DEPTH, meta["depth"]), "queries": queries.len()}
    meta["made_by"] = f"surecut score recipes/{system.recipe}.toml, cut to depth {DEPTH} and to these queries"
    for name in ("plan", "layout", "quality"):
        meta.pop(name)
    write_atomically(folder / "candidates.parquet", _packed(rows))
    write_atomically(folder / "qrels.parquet", _packed(qrels))
    write_atomically(folder / "meta.json", json.dumps(meta, indent=2, sort_keys=True) + "\n")
    return sum(path.stat().st_size for path in folder.iterdir())


def _packed(rows: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    rows.write_parquet(buffer, compression="zstd", compression_level=19)
    return buffer.getvalue()
