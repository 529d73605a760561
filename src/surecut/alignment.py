"""Two runs and the judgements, matched by query and document id, become Candidates."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, get_args

import numpy as np
import polars as pl

from surecut.arrays import Float32, Float64, Strings
from surecut.candidates import UNJUDGED, Candidates, Census, ragged
from surecut.errors import InputError
from surecut.kernels.matching import place_scores
from surecut.listing import Listed, as_numbers, grouped, in_retriever_order, match, refuse_repeated
from surecut.registry import unknown

MissingReranker = Literal["error", "lowest"]
Absent = Literal["skip", "zero"]

RUN_COLUMNS = ("query_id", "doc_id", "score")
QREL_COLUMNS = ("query_id", "doc_id", "relevance")
NOTHING_ODD = Census()
LARGEST_GRADE = 2**31 - 1


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
    check_options(depth, missing_reranker, absent)
    return from_listed(
        *in_retriever_order(grouped(retriever.select(RUN_COLUMNS)), depth),
        None if reranker is None else grouped(reranker.select(RUN_COLUMNS)),
        qrels,
        missing_reranker=missing_reranker,
        absent=absent,
    )


def check_options(depth: int | None, missing_reranker: str, absent: str) -> None:
    """Refuse what no reader can do."""
    if depth is not None and depth < 1:
        raise InputError(f"depth must be at least 1, not {depth}")
    for what, value, known in (
        ("missing_reranker", missing_reranker, get_args(MissingReranker)),
        ("absent", absent, get_args(Absent)),
    ):
        if value not in known:
            raise InputError(unknown(what, str(value), list(known)))


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
    given = other.numbers("score")
    other.refuse_non_finite(given, "reranker")
    scores, extra, repeated = place_scores(match(listed, other), given, listed.frame.height)
    if repeated >= 0:
        raise InputError(
            f"the reranker has document '{other.docs[repeated]}' twice for query '{other.owner(repeated)}': "
            "keep one of them"
        )
    completed, filled = complete(scores, listed, missing)
    return completed, extra, filled


def complete(scores: Float64, listed: Listed, missing: MissingReranker) -> tuple[Float64, int]:
    """Deal with candidates that the reranker did not score (nan)."""
    absent = np.flatnonzero(np.isnan(scores))
    if absent.size == 0:
        return scores, 0
    owner = np.searchsorted(listed.offsets, absent, side="right") - 1
    if missing == "error":
        rank = absent - listed.offsets[owner]
        row, fits = int(absent[0]), int(rank.min())
        cure = f"cut the lists with --depth {fits}, or " if fits else ""
        raise InputError(
            f"the reranker has no score for query '{listed.owner(row)}', document '{listed.docs[row]}' "
            f"({absent.size:,} such candidates): rerank them, {cure}place them last with --missing-reranker lowest"
        )
    low = np.full(len(listed.queries), np.inf)
    present = np.flatnonzero(~np.isnan(scores))
    np.minimum.at(low, np.searchsorted(listed.offsets, present, side="right") - 1, scores[present])
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
    """Candidates from rows in retriever order, graded; without judgements none is."""
    queries = len(listed.queries)
    data = Candidates(
        query_ids=_objects(listed.queries),
        offsets=listed.offsets,
        retriever=scores,
        reranker=reranker,
        grades=np.full(scores.size, UNJUDGED, dtype=np.int32),
        judged=np.zeros(queries, dtype=np.bool_),
        missed=np.empty(0, dtype=np.int32),
        missed_offsets=np.zeros(queries + 1, dtype=np.int64),
        doc_ids=listed.docs,
        census=census,
        system=dict(system or {}),
    )
    return data if qrels is None else _graded(data, listed, grouped(unique_judgements(qrels)), absent)


def _graded(data: Candidates, listed: Listed, judgements: Listed, absent: Absent) -> Candidates:
    place = listed.place()
    unseen = [query for query in judgements.queries if query not in place]
    if len(unseen) == len(judgements.queries):
        run, judged = (next(iter(some), "nothing") for some in (listed.queries, judgements.queries))
        raise InputError(
            f"the judgements are for none of the run's queries: the run begins with '{run}', they begin with '{judged}'"
        )
    if absent == "zero":
        offsets = np.concatenate((listed.offsets, np.full(len(unseen), listed.offsets[-1])))
        listed = Listed(listed.queries + unseen, offsets, listed.frame)
        place = listed.place()
    given = judgements.frame["relevance"].to_numpy()
    grade = np.maximum(given, 0).astype(np.int32)
    matched = match(listed, judgements)
    hit = matched >= 0
    grades = data.grades  # filled in place: nobody else has seen it
    grades[matched[hit]] = grade[hit]
    here = np.array([place.get(query, -1) for query in judgements.queries], dtype=np.int64)
    owner = np.repeat(here, np.diff(judgements.offsets))
    lost = ~hit & (owner >= 0)
    missed, missed_offsets = ragged(owner[lost], grade[lost], len(listed.queries))
    return replace(
        data,
        query_ids=_objects(listed.queries),
        offsets=listed.offsets,
        judged=np.isin(np.arange(len(listed.queries)), here),
        missed=missed,
        missed_offsets=missed_offsets,
        census=replace(
            data.census,
            absent_queries=len(unseen) if absent == "skip" else 0,
            absent_as_zero=len(unseen) if absent == "zero" else 0,
            negative_grades=int(np.sum(given < 0)),
        ),
    )


def unique_judgements(qrels: pl.DataFrame) -> pl.DataFrame:
    """Whole-number grades, each pair once; the same line twice is harmless, two grades are not."""
    qrels = qrels.drop_nulls("relevance")
    grade = qrels["relevance"]
    whole = as_numbers(grade, strict=False)
    odd = whole.is_null() | (whole != whole.floor()) | (whole.abs() > LARGEST_GRADE)
    odd = odd.fill_null(True) | whole.is_nan()
    if odd.any():
        row = int(odd.arg_max() or 0)
        raise InputError(
            f"query '{qrels['query_id'][row]}', document '{qrels['doc_id'][row]}': the grade '{grade[row]}' is not a "
            "whole number of 32 bits"
        )
    qrels = qrels.with_columns(whole.cast(pl.Int64).alias("relevance"))
    once = qrels.unique(QREL_COLUMNS, maintain_order=True)
    clash = once.filter(pl.struct("query_id", "doc_id").is_duplicated())
    if clash.height:
        raise InputError(
            f"the judgements have two different grades for query '{clash['query_id'][0]}', document "
            f"'{clash['doc_id'][0]}': keep one of them"
        )
    return once


def _objects(names: list[str]) -> Strings:
    held = np.empty(len(names), dtype=object)
    held[:] = names
    return held
