"""The retriever's order: descending score, ties by document id descending (UTF-8 bytes, as trec_eval)."""

from typing import TYPE_CHECKING

import numpy as np

from surecut.arrays import Array, Bool, Float32, Int64

if TYPE_CHECKING:
    import polars as pl


def retriever_order(scores: Float32, offsets: Int64, doc_ids: "pl.Series | None") -> Int64 | None:
    """The permutation that puts each query's rows in retriever order; None when they are in it already.

    Without document ids, equal scores stay in the order given.
    """
    order = None
    if bool(np.any(_within_queries(scores[1:] > scores[:-1], offsets))):
        from surecut.kernels.matching import descending_order

        order = descending_order(scores, offsets)
    if doc_ids is None:
        return order
    ordered = scores if order is None else scores[order]
    tied = _within_queries(ordered[1:] == ordered[:-1], offsets)
    return _break_ties(order, tied, doc_ids)


def as_float32(values: Array) -> Float32:
    """Scores as every part of surecut compares them; one too large for it becomes infinite."""
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(values, dtype=np.float32)


def _within_queries(flags: Bool, offsets: Int64) -> Bool:
    """Drop flags between the last row of one query and the first of the next."""
    borders = offsets[1:-1]
    flags[borders[(borders > 0) & (borders <= flags.size)] - 1] = False
    return flags


def _break_ties(order: Int64 | None, tied: Bool, doc_ids: "pl.Series") -> Int64 | None:
    import polars as pl

    upper = np.flatnonzero(tied)
    if upper.size == 0:
        return order
    rows = np.union1d(upper, upper + 1)
    starts_run = np.ones(rows.size, dtype=np.bool_)
    starts_run[rows > 0] = ~tied[rows[rows > 0] - 1]
    sources = rows if order is None else order[rows]
    frame = pl.DataFrame({"run": np.cumsum(starts_run), "doc": doc_ids.gather(sources), "source": sources})
    resolved = frame.sort("run", "doc", descending=[False, True])["source"].to_numpy()
    if np.array_equal(resolved, sources):
        return order
    if order is None:
        order = np.arange(len(doc_ids))
    order[rows] = resolved
    return order
