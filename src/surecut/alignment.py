"""Two runs and the judgements, matched by query and document id, become Candidates."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Literal, get_args

import numpy as np
import polars as pl

from surecut.arrays import Float32, Float64, Int64, Strings
from surecut.candidates import UNJUDGED, Candidates, Census, ragged
from surecut.errors import InputError
from surecut.joining import joined
from surecut.judgements import Judgements, refuse_no_judgements
from surecut.kernels.matching import place_scores
from surecut.listing import NO_DOCUMENTS, Listed, grouped, in_retriever_order, match, match_aligned, refuse_repeated
from surecut.registry import unknown

MissingReranker = Literal["error", "lowest"]
Absent = Literal["skip", "zero"]

RUN_COLUMNS = ("query_id", "doc_id", "score")
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
    given = other.numbers("score").astype(np.float64, copy=False)
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
        cure = f"cut the lists with --depth {fits} at most, or " if fits else "or "
        raise InputError(
            f"the reranker has no score for query '{listed.owner(row)}', document '{listed.docs[row]}' "
            f"({absent.size:,} such candidates here): rerank them, {cure}place them last with --missing-reranker lowest"
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
    data = replace(ungraded(listed, scores, reranker), census=census, system=dict(system or {}))
    if qrels is None:
        return data
    judgements = Judgements(qrels)
    places = judgements.places(listed.queries)
    return with_absent(graded(data, listed, judgements.about(places)), judgements, places, absent)


def ungraded(listed: Listed, scores: Float32, reranker: Float64 | None) -> Candidates:
    """Candidates from rows in retriever order, of which none is judged."""
    queries = len(listed.queries)
    return Candidates(
        query_ids=_objects(listed.queries),
        offsets=listed.offsets,
        retriever=scores,
        reranker=reranker,
        grades=np.full(scores.size, UNJUDGED, dtype=np.int32),
        judged=np.zeros(queries, dtype=np.bool_),
        missed=np.empty(0, dtype=np.int32),
        missed_offsets=np.zeros(queries + 1, dtype=np.int64),
        doc_ids=listed.docs if "doc_id" in listed.frame.columns else None,
    )


def graded(data: Candidates, listed: Listed, judgements: Listed) -> Candidates:
    """The same candidates with their grades; the judgements are of the same queries in the same order."""
    grade = np.maximum(judgements.frame["relevance"].to_numpy(), 0).astype(np.int32)
    matched = match_aligned(listed, judgements)
    hit = matched >= 0
    grades = data.grades  # filled in place: `ungraded` has just made it, and nobody else has seen it
    grades[matched[hit]] = grade[hit]
    missed, missed_offsets = ragged(judgements.owners[~hit], grade[~hit], len(data))
    return replace(data, grades=grades, judged=judgements.lengths > 0, missed=missed, missed_offsets=missed_offsets)


def with_absent(data: Candidates, judgements: Judgements, places: Int64, absent: Absent) -> Candidates:
    """Account for judged queries that are not in the run: they are counted, or counted as 0."""
    unseen = unseen_queries(data.query_ids, judgements, places)
    census = replace(data.census, negative_grades=judgements.negative)
    if absent == "skip" or not unseen.size:
        return replace(data, census=replace(census, absent_queries=unseen.size))
    counted = replace(data, census=replace(census, absent_as_zero=unseen.size))
    return joined([counted, without_lists(unseen, judgements, data.reranker is not None)])


def unseen_queries(query_ids: Iterable[str], judgements: Judgements, places: Int64) -> Int64:
    """Which judged queries are not in the run; if none is, the two do not belong together."""
    refuse_no_judgements(judgements)
    seen = np.zeros(len(judgements.queries), dtype=np.bool_)
    seen[places[places >= 0]] = True
    unseen = np.flatnonzero(~seen)
    if unseen.size == len(judgements.queries):
        run, judged = next(iter(query_ids), "nothing"), judgements.queries[0]
        raise InputError(
            f"the judgements are for none of the run's queries: the run begins with '{run}', they begin with '{judged}'"
        )
    return unseen


def without_lists(places: Int64, judgements: Judgements, reranked: bool) -> Candidates:
    """Judged queries for which nothing was retrieved: all that is relevant is missed."""
    names = [judgements.queries[place] for place in places]
    nothing = Listed(names, np.zeros(len(names) + 1, dtype=np.int64), pl.DataFrame(NO_DOCUMENTS))
    empty = ungraded(nothing, np.empty(0, dtype=np.float32), np.empty(0) if reranked else None)
    return graded(empty, nothing, judgements.about(places))


def _objects(names: list[str]) -> Strings:
    held = np.empty(len(names), dtype=object)
    held[:] = names
    return held
