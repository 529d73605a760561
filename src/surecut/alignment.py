"""Two runs and the judgements, matched by query and document id, become Candidates."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl

from surecut.arrays import Bool, Float32, Float64, Int32, Int64, Strings
from surecut.candidates import UNJUDGED, Candidates, Census, offsets_of, ragged
from surecut.errors import InputError
from surecut.kernels.matching import match_rows
from surecut.ordering import as_float32, retriever_order

MissingReranker = Literal["error", "lowest"]
Absent = Literal["skip", "zero"]

RUN_COLUMNS = ("query_id", "doc_id", "score")
QREL_COLUMNS = ("query_id", "doc_id", "relevance")


@dataclass(frozen=True)
class Grouped:
    """A long table whose rows lie query by query."""

    frame: pl.DataFrame
    queries: list[str]
    offsets: Int64

    def place(self) -> dict[str, int]:
        return {query: position for position, query in enumerate(self.queries)}

    def owner(self, row: int) -> str:
        return self.queries[int(np.searchsorted(self.offsets, row, side="right")) - 1]


def from_runs(
    retriever: pl.DataFrame,
    reranker: pl.DataFrame | None = None,
    qrels: pl.DataFrame | None = None,
    *,
    depth: int | None = None,
    missing_reranker: MissingReranker = "error",
    absent: Absent = "skip",
) -> Candidates:
    """Candidates from long frames: query_id doc_id score (twice) and query_id doc_id relevance."""
    listed, scores = in_retriever_order(retriever.select(RUN_COLUMNS), depth)
    docs = listed.frame["doc_id"]
    second, extra, filled = None, 0, 0
    if reranker is None:
        refuse_repeated(listed)
    else:
        second, extra, filled = _attach_reranker(listed, grouped(reranker.select(RUN_COLUMNS)), missing_reranker)
    return _with_judgements(
        listed, scores, second, docs, qrels, absent, Census(extra_reranked=extra, filled_reranked=filled)
    )


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
    table = table.rename({"retriever": "score"})
    wanted = [c for c in (*RUN_COLUMNS, "reranker", "relevance", "group") if c in table.columns]
    listed, scores = in_retriever_order(table.select(wanted), depth)
    refuse_repeated(listed)
    second, filled = None, 0
    if "reranker" in wanted:
        given = listed.frame["reranker"].cast(pl.Float64)
        second, filled = _complete(
            given.fill_null(np.nan).to_numpy(), ~given.is_null().to_numpy(), listed, missing_reranker
        )
    judgements = as_qrels(qrels) if qrels is not None else None
    if judgements is None and "relevance" in wanted:
        judgements = listed.frame.select(QREL_COLUMNS).drop_nulls("relevance")
    data = _with_judgements(
        listed,
        scores,
        second,
        listed.frame["doc_id"],
        judgements,
        absent,
        Census(filled_reranked=filled),
        system,
    )
    if "group" in wanted:
        heads = listed.frame.select("query_id", pl.col("group").cast(pl.String)).unique("query_id")
        data = data.with_groups({q: g for q, g in heads.iter_rows() if g is not None})
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
            table = table.with_columns(pl.col(name).cast(pl.String))
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


def grouped(frame: pl.DataFrame) -> Grouped:
    """Bring the rows of each query together (most files have them so already)."""
    query = frame["query_id"]
    if frame.height == 0:
        return Grouped(frame, [], np.zeros(1, dtype=np.int64))
    heads = np.flatnonzero(np.concatenate(([True], (query.slice(1) != query.slice(0, frame.height - 1)).to_numpy())))
    queries = query.gather(heads)
    if queries.n_unique() < len(queries):
        return grouped(frame.sort("query_id", maintain_order=True))
    return Grouped(frame, queries.to_list(), np.concatenate((heads, [frame.height])).astype(np.int64))


def refuse_repeated(listed: Grouped) -> None:
    """A document twice for one query is an error."""
    _match(listed, None)


def in_retriever_order(frame: pl.DataFrame, depth: int | None) -> tuple[Grouped, Float32]:
    """The rows query by query, each query's in retriever order and at most `depth` of them."""
    listed = grouped(frame)
    scores = as_float32(listed.frame["score"].cast(pl.Float64).fill_null(np.nan).to_numpy())
    _refuse_non_finite(scores, listed, "retriever")
    order = retriever_order(scores, listed.offsets, listed.frame["doc_id"])
    lengths = np.diff(listed.offsets)
    if depth is not None and lengths.max(initial=0) > depth:
        rank = np.arange(scores.size) - np.repeat(listed.offsets[:-1], lengths)
        order = (np.arange(scores.size) if order is None else order)[rank < depth]
        listed = Grouped(listed.frame, listed.queries, offsets_of(np.minimum(lengths, depth)))
    if order is None:
        return listed, scores
    return Grouped(listed.frame[order], listed.queries, listed.offsets), scores[order]


def _match(listed: Grouped, other: Grouped | None) -> Int64:
    """Row here for each row of the other table, or -1; a document twice in a query is an error."""
    docs = listed.frame["doc_id"]
    other_docs = pl.Series("doc_id", [], dtype=pl.String) if other is None else other.frame["doc_id"]
    low = np.zeros(len(listed.queries), dtype=np.int64)
    high = np.zeros_like(low)
    if other is not None:
        place = other.place()
        there = np.array([place.get(query, -1) for query in listed.queries], dtype=np.int64)
        known = there >= 0
        low[known], high[known] = other.offsets[there[known]], other.offsets[there[known] + 1]
    for seed in range(8):  # a second seed is needed about once in ten billion runs
        matched, first, second = match_rows(
            listed.offsets, docs.hash(seed).to_numpy(), low, high, other_docs.hash(seed).to_numpy()
        )
        if first >= 0:
            if docs[first] == docs[second]:
                raise InputError(f"query '{listed.owner(first)}' has document '{docs[first]}' twice")
            continue
        rows = np.flatnonzero(matched >= 0)
        if (docs.gather(matched[rows]) == other_docs.gather(rows)).all():
            return matched
    raise AssertionError("eight hash functions in a row collided")


def _attach_reranker(listed: Grouped, other: Grouped, missing: MissingReranker) -> tuple[Float64, int, int]:
    matched = _match(listed, other)
    rows = np.flatnonzero(matched >= 0)
    given = other.frame["score"].cast(pl.Float64).fill_null(np.nan).to_numpy()
    _refuse_non_finite(given, other, "reranker")
    has = np.zeros(listed.frame.height, dtype=np.bool_)
    has[matched[rows]] = True
    if int(has.sum()) < rows.size:
        _, first_use, uses = np.unique(matched[rows], return_index=True, return_counts=True)
        row = int(rows[first_use[np.argmax(uses > 1)]])
        raise InputError(
            f"the reranker run has document '{other.frame['doc_id'][row]}' twice for query '{other.owner(row)}'"
        )
    scores = np.full(listed.frame.height, np.nan)
    scores[matched[rows]] = given[rows]
    completed, filled = _complete(scores, has, listed, missing)
    return completed, int(matched.size - rows.size), filled


def _complete(scores: Float64, has: Bool, listed: Grouped, missing: MissingReranker) -> tuple[Float64, int]:
    """Deal with candidates that the reranker did not score."""
    if has.all():
        _refuse_non_finite(scores, listed, "reranker")
        return scores, 0
    absent = np.flatnonzero(~has)
    owner = np.searchsorted(listed.offsets, absent, side="right") - 1
    if missing == "error":
        rank = absent - listed.offsets[owner]
        row, fits = int(absent[0]), int(rank.min())
        cure = f"--depth {fits} would fit, or " if fits else ""
        raise InputError(
            f"the reranker run has no score for query '{listed.owner(row)}', document "
            f"'{listed.frame['doc_id'][row]}' ({absent.size:,} such candidates): rerank them, or use "
            f"{cure}--missing-reranker lowest to place them last"
        )
    low = np.full(len(listed.queries), np.inf)
    np.minimum.at(low, np.searchsorted(listed.offsets, np.flatnonzero(has), side="right") - 1, scores[has])
    filled = scores.copy()
    filled[absent] = np.where(np.isfinite(low[owner]), low[owner] - 1.0, 0.0)
    _refuse_non_finite(filled, listed, "reranker")
    return filled, int(absent.size)


def _with_judgements(
    listed: Grouped,
    scores: Float32,
    reranker: Float64 | None,
    docs: pl.Series,
    qrels: pl.DataFrame | None,
    absent: Absent,
    census: Census,
    system: Mapping[str, str] | None = None,
) -> Candidates:
    queries = len(listed.queries)
    grades: Int32 = np.full(scores.size, UNJUDGED, dtype=np.int32)
    judged = np.zeros(queries, dtype=np.bool_)
    missed, missed_offsets = np.empty(0, dtype=np.int32), np.zeros(queries + 1, dtype=np.int64)
    offsets, names, absent_count, negative = listed.offsets, list(listed.queries), 0, 0
    if qrels is not None:
        judgements = grouped(_unique_judgements(qrels))
        place = listed.place()
        unseen = [query for query in judgements.queries if query not in place]
        if len(unseen) == len(judgements.queries):
            raise InputError(
                f"the judgements are for none of the run's queries: the run has '{names[0]}', the judgements "
                f"'{judgements.queries[0]}'"
                if names and unseen
                else "there are no judgements or no queries"
            )
        absent_count = len(unseen)
        if absent == "zero":
            names += unseen
            offsets = np.concatenate((offsets, np.full(absent_count, offsets[-1])))
            judged = np.concatenate((judged, np.zeros(absent_count, dtype=np.bool_)))
            place |= {query: queries + i for i, query in enumerate(unseen)}
            listed = Grouped(listed.frame, names, offsets)
        grade = judgements.frame["relevance"].to_numpy()
        negative = int(np.sum(grade < 0))
        grade = np.maximum(grade, 0).astype(np.int32)
        matched = _match(listed, judgements)
        hit = matched >= 0
        grades[matched[hit]] = grade[hit]
        here = np.array([place.get(query, -1) for query in judgements.queries], dtype=np.int64)
        judged[here[here >= 0]] = True
        owner = np.repeat(here, np.diff(judgements.offsets))
        lost = ~hit & (owner >= 0)
        missed, missed_offsets = ragged(owner[lost], grade[lost], len(names))
    return Candidates(
        query_ids=_objects(names),
        offsets=offsets,
        retriever=scores,
        reranker=reranker,
        grades=grades,
        judged=judged,
        missed=missed,
        missed_offsets=missed_offsets,
        doc_ids=docs,
        census=Census(absent_count, negative, census.extra_reranked, census.filled_reranked),
        system=dict(system or {}),
    )


def _unique_judgements(qrels: pl.DataFrame) -> pl.DataFrame:
    """Whole-number grades, each pair once; the same line twice is harmless, two grades are not."""
    grade = qrels["relevance"]
    if not grade.dtype.is_integer():
        whole = grade.cast(pl.Float64, strict=False)
        odd = whole.is_null() | whole.is_nan() | (whole != whole.floor())
        if odd.any():
            row = int(odd.arg_max() or 0)
            raise InputError(
                f"query '{qrels['query_id'][row]}', document '{qrels['doc_id'][row]}': the grade "
                f"'{grade[row]}' is not a whole number"
            )
        qrels = qrels.with_columns(whole.cast(pl.Int64).alias("relevance"))
    once = qrels.unique(QREL_COLUMNS, maintain_order=True)
    clash = once.filter(pl.struct("query_id", "doc_id").is_duplicated())
    if clash.height:
        raise InputError(f"query '{clash['query_id'][0]}' has two different grades for document '{clash['doc_id'][0]}'")
    return once


def _refuse_non_finite(scores: Float32 | Float64, listed: Grouped, what: str) -> None:
    finite = np.isfinite(scores)
    if not finite.all():
        row = int(np.argmin(finite))
        raise InputError(
            f"the {what} score of query '{listed.owner(row)}', document '{listed.frame['doc_id'][row]}' is "
            "not a finite number: remove the line or mend the score"
        )


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


def _pandas_column(column: Any) -> Any:
    kind = getattr(column.dtype, "kind", "O")
    if kind in "iufb":
        return pl.Series(column.to_numpy(), nan_to_null=True)
    return [None if each is None or each != each else each for each in column.tolist()]


def _objects(names: list[str]) -> Strings:
    held = np.empty(len(names), dtype=object)
    held[:] = names
    return held
