"""Candidates from plain arrays: no ids needed, no table library loaded."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from surecut.arrays import Array, Float64, Int32, Int64, Strings
from surecut.candidates import UNJUDGED, Candidates, Census, counts_by_query, offsets_of
from surecut.errors import InputError
from surecut.ordering import as_float32, retriever_order


def from_arrays(
    retriever: Any,
    reranker: Any,
    relevance: Any,
    offsets: Any,
    query_ids: Iterable[str] | None,
    doc_ids: Any,
    missed: Sequence[Any] | None,
    total_relevant: Any,
    group: Iterable[str] | None,
) -> Candidates:
    """See `Candidates.from_arrays`."""
    raw = _numbers(retriever, "retriever")
    bounds = _offsets(raw, offsets)
    queries = bounds.size - 1
    names = _names(query_ids, queries, "query_ids")
    scores = as_float32(raw.reshape(-1))
    _refuse_non_finite(scores, bounds, names, "retriever")
    second = None if reranker is None else _column(reranker, raw.size, "reranker")
    if second is not None:
        _refuse_non_finite(second, bounds, names, "reranker")
    grades, negative = _grades(relevance, raw.size)
    documents = None
    if doc_ids is not None:
        import polars as pl

        flat = [str(each) for row in doc_ids for each in row] if raw.ndim == 2 else list(map(str, doc_ids))
        documents = pl.Series("doc_id", flat, dtype=pl.String)
        if len(documents) != raw.size:
            raise InputError(f"doc_ids has {len(documents):,} ids for {raw.size:,} candidates")
        _refuse_repeated(documents, bounds, names)
    order = retriever_order(scores, bounds, documents)
    if order is not None:
        scores, grades = scores[order], grades[order]
        second = None if second is None else second[order]
        documents = None if documents is None else documents.gather(order)
    beyond, beyond_offsets = _missed(missed, total_relevant, grades, bounds)
    return Candidates(
        query_ids=names,
        offsets=bounds,
        retriever=scores,
        reranker=second,
        grades=grades,
        judged=np.full(queries, relevance is not None),
        missed=beyond,
        missed_offsets=beyond_offsets,
        doc_ids=documents,
        groups=None if group is None else _names(group, queries, "group", unique=False),
        census=Census(negative_grades=negative),
    )


def _offsets(raw: Array, offsets: Any) -> Int64:
    if offsets is None:
        if raw.ndim != 2:
            raise InputError("retriever scores must be 2-D (queries x candidates), or flat with offsets=")
        return offsets_of(np.full(raw.shape[0], raw.shape[1]))
    bounds = np.asarray(offsets, dtype=np.int64)
    if raw.ndim != 1 or bounds.ndim != 1 or bounds.size < 1:
        raise InputError("with offsets=, retriever scores and offsets must both be flat arrays")
    if bounds[0] != 0 or bounds[-1] != raw.size or np.any(np.diff(bounds) < 0):
        raise InputError(f"offsets must rise from 0 to the number of candidates, {raw.size:,}")
    return bounds


def _names(names: Iterable[str] | None, count: int, what: str, unique: bool = True) -> Strings:
    if names is None:
        return np.array([str(i) for i in range(count)], dtype=object)
    listed = np.array([str(name) for name in names], dtype=object)
    if listed.size != count:
        raise InputError(f"{what} has {listed.size:,} entries for {count:,} queries")
    if unique and len(set(listed)) < count:
        twice = next(name for name in listed if np.sum(listed == name) > 1)
        raise InputError(f"query id '{twice}' occurs more than once")
    return listed


def _numbers(values: Any, what: str) -> Array:
    """An array of numbers, in whatever precision it comes."""
    try:
        array = np.asarray(values)
        return array if array.dtype.kind in "fiub" else array.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"{what} must be an array of numbers with rows of one length (or flat, with offsets=)"
        ) from None


def _column(values: Any, size: int, what: str) -> Float64:
    column = np.ascontiguousarray(_numbers(values, what), dtype=np.float64).reshape(-1)
    if column.size != size:
        raise InputError(f"{what} has {column.size:,} values for {size:,} candidates")
    return column


def _refuse_non_finite(scores: Array, offsets: Int64, names: Strings, what: str) -> None:
    finite = np.isfinite(scores)
    if not finite.all():
        row = int(np.argmin(finite))
        query = int(np.searchsorted(offsets, row, side="right")) - 1
        raise InputError(
            f"the {what} score of query '{names[query]}', candidate {row - offsets[query]} is not a finite number"
        )


def _grades(relevance: Any, size: int) -> tuple[Int32, int]:
    if relevance is None:
        return np.full(size, UNJUDGED, dtype=np.int32), 0
    given = _numbers(relevance, "relevance").reshape(-1)
    if given.size != size:
        raise InputError(f"relevance has {given.size:,} grades for {size:,} candidates")
    if given.dtype == np.int32 and given.flags.c_contiguous and given.min(initial=0) >= 0:
        return given, 0
    with np.errstate(invalid="ignore"):
        whole = given.astype(np.int32)
    if not np.array_equal(whole, given):
        raise InputError("relevance must hold whole numbers (grades)")
    return np.maximum(whole, 0), int(np.sum(whole < 0))


def _missed(missed: Sequence[Any] | None, total_relevant: Any, grades: Int32, offsets: Int64) -> tuple[Int32, Int64]:
    queries = offsets.size - 1
    if missed is not None and total_relevant is not None:
        raise InputError("give missed= or total_relevant=, not both")
    if total_relevant is not None:
        totals = np.broadcast_to(np.asarray(total_relevant, dtype=np.int64), (queries,))
        short = totals - counts_by_query(grades > 0, offsets)
        if np.any(short < 0):
            query = int(np.argmin(short))
            raise InputError(f"total_relevant of query {query} is below its relevant candidates")
        return np.ones(int(short.sum()), dtype=np.int32), offsets_of(short)
    if missed is None:
        return np.empty(0, dtype=np.int32), np.zeros(queries + 1, dtype=np.int64)
    if len(missed) != queries:
        raise InputError(f"missed has {len(missed):,} entries for {queries:,} queries")
    lists = [np.sort(np.maximum(np.asarray(each, dtype=np.int32).reshape(-1), 0))[::-1] for each in missed]
    return np.concatenate([np.empty(0, dtype=np.int32), *lists]), offsets_of([each.size for each in lists])


def _refuse_repeated(documents: Any, offsets: Int64, names: Strings) -> None:
    import polars as pl

    owner = np.repeat(np.arange(names.size), np.diff(offsets))
    repeated = pl.DataFrame({"query": owner, "doc": documents}).filter(pl.struct("query", "doc").is_duplicated())
    if repeated.height:
        raise InputError(f"query '{names[repeated['query'][0]]}' has document '{repeated['doc'][0]}' twice")
