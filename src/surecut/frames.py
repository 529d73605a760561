"""Candidates from polars or pandas frames and from nested dicts."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from surecut.alignment import (
    Absent,
    MissingReranker,
    check_options,
    complete,
    from_runs,
    graded,
    ungraded,
    with_absent,
)
from surecut.candidates import Candidates, Census
from surecut.errors import InputError
from surecut.judgements import QREL_COLUMNS, Judgements
from surecut.listing import Listed, grouped, in_retriever_order, refuse_repeated

_NAMES = (pl.Categorical, pl.Enum, pl.Null)


def from_frame(
    frame: Any,
    qrels: Any = None,
    *,
    depth: int | None = None,
    missing_reranker: MissingReranker = "error",
    absent: Absent = "skip",
    system: Mapping[str, str] | None = None,
) -> Candidates:
    """See `Candidates.from_frame`."""
    table = as_polars(frame)
    for needed in ("query_id", "doc_id", "retriever"):
        if needed not in table.columns:
            raise InputError(f"the frame has no column '{needed}' (it has: {', '.join(table.columns)})")
    check_options(depth, missing_reranker, absent)
    wanted = [c for c in ("query_id", "doc_id", "retriever", "reranker", "relevance", "group") if c in table.columns]
    listed = grouped(table.select(wanted))
    judgements = None
    if qrels is not None:
        judgements = Judgements(as_qrels(qrels))
    elif "relevance" in wanted:
        judgements = Judgements(table.select(QREL_COLUMNS))
    if judgements is None:
        data = from_grouped(listed, None, depth, missing_reranker)
    else:
        places = judgements.places(listed.queries)
        data = from_grouped(listed, judgements.about(places), depth, missing_reranker)
        data = with_absent(data, judgements, places, absent)
    data = replace(data, system=dict(system or {}))
    return data.with_groups(groups_of(table)) if "group" in wanted else data


def from_grouped(
    listed: Listed, judgements: Listed | None, depth: int | None, missing_reranker: MissingReranker
) -> Candidates:
    """Candidates from rows that lie query by query, with their doc_id, retriever and (if any) reranker scores.

    The judgements are of the same queries, in the same order.
    """
    listed, scores = in_retriever_order(listed, depth, column="retriever")
    second, filled = None, 0
    if "reranker" in listed.frame.columns:
        given = listed.numbers("reranker").astype(np.float64, copy=False)
        known = listed.numbers("reranker", null=0.0) if listed.frame["reranker"].null_count() else given
        listed.refuse_non_finite(known, "reranker")
        second, filled = complete(given, listed, missing_reranker)
    data = replace(ungraded(listed, scores, second), census=Census(filled_reranked=filled))
    if judgements is not None:
        return graded(data, listed, judgements)
    refuse_repeated(listed)
    return data


def from_dicts(
    retriever: Mapping[str, Mapping[str, float]],
    reranker: Mapping[str, Mapping[str, float]] | None = None,
    qrels: Mapping[str, Mapping[str, int]] | None = None,
    **options: Any,
) -> Candidates:
    """See `Candidates.from_dicts`."""
    return from_runs(
        _flat(retriever, "score"),
        None if reranker is None else _flat(reranker, "score"),
        None if qrels is None else _flat(qrels, "relevance"),
        **options,
    )


def as_polars(frame: Any) -> pl.DataFrame:
    """A polars frame from a polars, lazy or pandas one; ids become strings."""
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    if isinstance(frame, pl.DataFrame):
        table = frame
    elif hasattr(frame, "columns") and hasattr(frame, "to_numpy"):
        table = pl.DataFrame({str(name): _pandas_column(frame[name]) for name in frame.columns})
    else:
        raise InputError(f"expected a polars or pandas frame, not {type(frame).__name__}")
    for name in ("query_id", "doc_id", "group"):
        if name in table.columns and table.schema[name] != pl.String:
            if table.schema[name].is_float():
                raise InputError(f"column '{name}' holds floating-point numbers; ids must be strings")
            if not (table.schema[name].is_integer() or table.schema[name] in _NAMES):
                raise InputError(f"column '{name}' holds {table.schema[name]}; ids must be strings")
            table = table.with_columns(pl.col(name).cast(pl.String))
        if name in table.columns and name != "group" and table[name].null_count():
            raise InputError(f"column '{name}' has empty entries: every row needs its ids")
    return table


def as_qrels(qrels: Any) -> pl.DataFrame:
    """Judgements as a frame query_id doc_id relevance, from a frame or nested dicts."""
    if isinstance(qrels, Mapping):
        return _flat(qrels, "relevance")
    frame = as_polars(qrels)
    for needed in QREL_COLUMNS:
        if needed not in frame.columns:
            raise InputError(f"the judgements have no column '{needed}' (they have: {', '.join(frame.columns)})")
    return frame.select(QREL_COLUMNS)


def _flat(nested: Mapping[str, Mapping[str, Any]], value: str) -> pl.DataFrame:
    for query, inner in nested.items():
        if not isinstance(inner, Mapping):
            raise InputError(f"expected {{query: {{doc: {value}}}}}, but '{query}' holds {type(inner).__name__}")
    queries = [str(query) for query, inner in nested.items() for _ in inner]
    docs = [str(doc) for inner in nested.values() for doc in inner]
    values = [value for inner in nested.values() for value in inner.values()]
    dtype = pl.Float64 if value == "score" else None
    return pl.DataFrame(
        {
            "query_id": pl.Series(queries, dtype=pl.String),
            "doc_id": pl.Series(docs, dtype=pl.String),
            value: pl.Series(values, dtype=dtype, strict=False),
        }
    )


def groups_of(table: pl.DataFrame) -> dict[str, str]:
    """The group of each query that has one."""
    pairs = table.select("query_id", "group").drop_nulls().unique(maintain_order=True)
    twice = pairs.filter(pl.col("query_id").is_duplicated())
    if twice.height:
        raise InputError(
            f"query '{twice['query_id'][0]}' is in two groups, '{twice['group'][0]}' and '{twice['group'][1]}'"
        )
    return dict(pairs.iter_rows())


def _pandas_column(column: Any) -> Any:
    kind = getattr(column.dtype, "kind", "O")
    if kind in "iufb":
        return pl.Series(column.to_numpy(), nan_to_null=True)
    return [None if missing else each for each, missing in zip(column.tolist(), column.isna(), strict=True)]
