"""Two runs and the judgements, matched by query and document id, become Candidates."""

from collections.abc import Mapping
from typing import Literal

import numpy as np
import polars as pl

from surecut.arrays import Bool, Float32, Float64, Int32, Strings
from surecut.candidates import UNJUDGED, Candidates, Census, ragged
from surecut.errors import InputError
from surecut.listing import Listed, grouped, in_retriever_order, match, refuse_repeated

MissingReranker = Literal["error", "lowest"]
Absent = Literal["skip", "zero"]

RUN_COLUMNS = ("query_id", "doc_id", "score")
QREL_COLUMNS = ("query_id", "doc_id", "relevance")
NOTHING_ODD = Census()


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
    return from_listed(
        *in_retriever_order(grouped(retriever.select(RUN_COLUMNS)), depth),
        None if reranker is None else grouped(reranker.select(RUN_COLUMNS)),
        qrels,
        missing_reranker=missing_reranker,
        absent=absent,
    )


def from_listed(
    listed: Listed,
    scores: Float32,
    reranker: Listed | None,
    qrels: pl.DataFrame | None,
    *,
    missing_reranker: MissingReranker = "error",
    absent: Absent = "skip",
) -> Candidates:
    """Candidates from rows in retriever order with their scores."""
    if reranker is None:
        refuse_repeated(listed)
        return with_judgements(listed, scores, None, qrels, absent)
    second, extra, filled = _attach_reranker(listed, reranker, missing_reranker)
    return with_judgements(listed, scores, second, qrels, absent, Census(extra_reranked=extra, filled_reranked=filled))


def _attach_reranker(listed: Listed, other: Listed, missing: MissingReranker) -> tuple[Float64, int, int]:
    matched = match(listed, other)
    rows = np.flatnonzero(matched >= 0)
    given = other.numbers("score")
    other.refuse_non_finite(given, "reranker")
    has = np.zeros(listed.frame.height, dtype=np.bool_)
    has[matched[rows]] = True
    if int(has.sum()) < rows.size:
        _, first_use, uses = np.unique(matched[rows], return_index=True, return_counts=True)
        row = int(rows[first_use[np.argmax(uses > 1)]])
        raise InputError(f"the reranker run has document '{other.docs[row]}' twice for query '{other.owner(row)}'")
    scores = np.full(listed.frame.height, np.nan)
    scores[matched[rows]] = given[rows]
    completed, filled = complete(scores, has, listed, missing)
    return completed, int(matched.size - rows.size), filled


def complete(scores: Float64, has: Bool, listed: Listed, missing: MissingReranker) -> tuple[Float64, int]:
    """Deal with candidates that the reranker did not score."""
    if has.all():
        listed.refuse_non_finite(scores, "reranker")
        return scores, 0
    absent = np.flatnonzero(~has)
    owner = np.searchsorted(listed.offsets, absent, side="right") - 1
    if missing == "error":
        rank = absent - listed.offsets[owner]
        row, fits = int(absent[0]), int(rank.min())
        cure = f"--depth {fits} would fit, or " if fits else ""
        raise InputError(
            f"the reranker run has no score for query '{listed.owner(row)}', document "
            f"'{listed.docs[row]}' ({absent.size:,} such candidates): rerank them, or use "
            f"{cure}--missing-reranker lowest to place them last"
        )
    low = np.full(len(listed.queries), np.inf)
    np.minimum.at(low, np.searchsorted(listed.offsets, np.flatnonzero(has), side="right") - 1, scores[has])
    filled = scores.copy()
    filled[absent] = np.where(np.isfinite(low[owner]), low[owner] - 1.0, 0.0)
    listed.refuse_non_finite(filled, "reranker")
    return filled, int(absent.size)


def with_judgements(
    listed: Listed,
    scores: Float32,
    reranker: Float64 | None,
    qrels: pl.DataFrame | None,
    absent: Absent,
    census: Census = NOTHING_ODD,
    system: Mapping[str, str] | None = None,
) -> Candidates:
    queries = len(listed.queries)
    grades: Int32 = np.full(scores.size, UNJUDGED, dtype=np.int32)
    judged = np.zeros(queries, dtype=np.bool_)
    missed, missed_offsets = np.empty(0, dtype=np.int32), np.zeros(queries + 1, dtype=np.int64)
    offsets, names, absent_count, negative = listed.offsets, list(listed.queries), 0, 0
    if qrels is not None:
        judgements = grouped(unique_judgements(qrels))
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
            listed = Listed(names, offsets, listed.frame)
        grade = judgements.frame["relevance"].to_numpy()
        negative = int(np.sum(grade < 0))
        grade = np.maximum(grade, 0).astype(np.int32)
        matched = match(listed, judgements)
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
        doc_ids=listed.docs,
        census=Census(absent_count, negative, census.extra_reranked, census.filled_reranked),
        system=dict(system or {}),
    )


def unique_judgements(qrels: pl.DataFrame) -> pl.DataFrame:
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


def _objects(names: list[str]) -> Strings:
    held = np.empty(len(names), dtype=object)
    held[:] = names
    return held
