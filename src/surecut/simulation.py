"""Simulated two-stage systems, with nothing hidden: for the demo, the validity suite and the benchmarks.

A query's distractors are the largest points of a Poisson process (scores fall with the logarithm of the
rank, as real ones do); a relevant document has a log-normal place among them. The reranker sees a noisy
strength of each document. With `depth_lure` > 0 deep distractors look better to it than shallow ones, so
that reranking more makes the list worse: a strongly non-monotone system.
"""

from dataclasses import dataclass, replace

import numpy as np

from surecut.arrays import Float64
from surecut.candidates import UNJUDGED, Candidates
from surecut.errors import InputError
from surecut.registry import Registry


@dataclass(frozen=True)
class System:
    """How a simulated retriever and reranker behave."""

    name: str
    sentence: str
    median_place: float = 7.0  # of a relevant document among the distractors
    place_spread: float = 2.8  # standard deviation of the log of that place
    strength: float = 3.1  # of a relevant document, to the reranker
    strength_spread: float = 2.0
    shallow_strength: float = 2.0  # how much better the reranker likes distractors the retriever likes
    depth_lure: float = 0.0  # how much better it likes those the retriever does not
    relevant: float = 1.06  # mean relevant documents a query
    grades: int = 1  # highest grade
    decimals: int | None = None  # round scores, to make ties


SYSTEMS = Registry(
    "simulated system",
    System("dense-electra", "like DPR + MonoELECTRA on MS MARCO: about .31 -> .41, recall .96"),
    System(
        "bm25-bert",
        "like BM25 + MonoBERT on MS MARCO: about .19 -> .37, recall .86",
        median_place=36.0,
        place_spread=3.1,
        strength=3.3,
        shallow_strength=2.5,
    ),
    System(
        "lured",
        "a reranker that falls for deep distractors: the best list is a short one",
        strength=3.0,
        strength_spread=1.8,
        shallow_strength=0.0,
        depth_lure=0.7,
    ),
    System(
        "graded",
        "several relevant documents a query, in three grades",
        relevant=4.0,
        grades=3,
        median_place=20.0,
    ),
)


def simulate(
    system: str | System = "dense-electra",
    queries: int = 2000,
    depth: int = 1000,
    seed: int = 0,
    *,
    ties: bool = False,
) -> Candidates:
    """Queries of a simulated system, as Candidates.

    Systems by name: dense-electra, bm25-bert, lured (a reranker that falls for deep distractors) and graded. `ties`
    rounds the scores, so that many are equal.

    >>> simulate("lured", queries=100, depth=50)
    Candidates(100 queries, 5,000 candidates, 100 judged)
    """
    chosen = SYSTEMS[system] if isinstance(system, str) else system
    if queries < 1 or depth < 1 or seed < 0:
        raise InputError("a simulated system needs at least one query, a depth of at least one and a seed of 0 or more")
    if ties:
        chosen = replace(chosen, decimals=1)
    rng = np.random.default_rng(seed)
    extra = rng.poisson(chosen.relevant - 1.0, queries) if chosen.relevant > 1 else np.zeros(queries, dtype=int)
    most = 1 + int(extra.max())
    scores, seconds = _distractors(chosen, rng, queries, depth)
    places, strengths = _relevant(chosen, rng, queries, most)
    exists = np.arange(most) <= extra[:, None]
    grades = np.where(exists, rng.integers(1, chosen.grades + 1, (queries, most)), 0)
    own_scores = np.where(exists, -np.log(places / depth), -np.inf)

    everything = np.concatenate((own_scores, scores), axis=1)
    order = np.argsort(-everything, axis=1, kind="stable")[:, :depth]
    grade_of = np.concatenate((grades, np.zeros((queries, depth), dtype=grades.dtype)), axis=1)
    retriever = np.take_along_axis(everything, order, axis=1)
    reranker = np.take_along_axis(np.concatenate((strengths, seconds), axis=1), order, axis=1)
    relevance = np.take_along_axis(grade_of, order, axis=1).astype(np.int32)
    if chosen.decimals is not None:
        retriever, reranker = retriever.round(chosen.decimals), reranker.round(chosen.decimals)
    retrieved = np.zeros(everything.shape, dtype=np.bool_)
    np.put_along_axis(retrieved, order, True, axis=1)
    lost = exists & ~retrieved[:, :most]
    data = Candidates.from_arrays(
        retriever.astype(np.float32),
        reranker,
        relevance,
        query_ids=(f"{chosen.name}-{i}" for i in range(queries)),
        missed=[grades[q][lost[q]] for q in range(queries)],
    )
    return replace(data, grades=np.where(data.grades > 0, data.grades, UNJUDGED))  # distractors were never judged


def _distractors(system: System, rng: np.random.Generator, queries: int, depth: int) -> tuple[Float64, Float64]:
    arrivals = np.cumsum(rng.exponential(size=(queries, depth)), axis=1)
    closeness = -np.log(arrivals / depth)  # the retriever's score
    share = np.clip(closeness / np.log(depth + 1.0), 0.0, 1.0)
    likes = system.shallow_strength * share + system.depth_lure * (1.0 - share)
    return closeness, likes + rng.standard_normal((queries, depth))


def _relevant(system: System, rng: np.random.Generator, queries: int, most: int) -> tuple[Float64, Float64]:
    log_place = np.log(system.median_place) + system.place_spread * rng.standard_normal((queries, most))
    ease = system.strength + system.strength_spread * rng.standard_normal((queries, 1))
    return np.exp(log_place), ease + 0.5 * rng.standard_normal((queries, most))
