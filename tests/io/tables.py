"""Score tables in files of any shape."""

import numpy as np
import polars as pl

from surecut.io.table import as_parquet

QUERIES, DEPTH = 400, 30
LENGTHS = 3  # lists are cut at 30, 29, 28, 30, ... so that no two pieces have the same shape


def written(folder, frame, qrels, parts=1, shuffled=False, beside=False, permuted=False):
    """A score table in so many files, its rows or its queries in or out of order, its judgements in a file or in a
    column."""
    (folder / "candidates").mkdir(parents=True)
    if beside:
        frame = frame.join(qrels, on=("query_id", "doc_id"), how="left", maintain_order="left")
    else:
        (folder / "qrels.parquet").write_bytes(as_parquet(qrels))
    names = frame["query_id"].unique(maintain_order=True)
    names = names.shuffle(seed=1) if permuted else names
    for number, part in enumerate(np.array_split(names.to_numpy(), parts)):
        rows = frame.filter(pl.col("query_id").is_in(part.tolist()))
        rows = rows.sample(fraction=1.0, shuffle=True, seed=number) if shuffled else rows
        (folder / "candidates" / f"part-{number:05d}.parquet").write_bytes(as_parquet(rows))
    return folder
