"""The final list after pruned reranking: survivors by their final scores, then the tail if it is appended."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from surecut.arrays import Float32, Float64

if TYPE_CHECKING:
    from surecut.certificate import Certificate


@dataclass(frozen=True)
class Placed:
    """A candidate of the final list, by its place in the retriever's; one that was pruned has no scores."""

    place: int
    reranker: float | None
    score: float | None


def fused(retriever: Float32, reranker: Float64, beta: float) -> Float64:
    """Evidence fusion: beta * retriever + (1 - beta) * reranker."""
    if beta == 0.0:
        return reranker
    return beta * retriever.astype(np.float64) + (1.0 - beta) * reranker


def final_list(certificate: "Certificate", retriever: Float32, reranked: Float64) -> list[Placed]:
    """The final list from one query's retriever scores, descending, and the reranker's for the first so many."""
    score = fused(retriever[: reranked.size], reranked, float(certificate.fusion["beta"]))
    order = np.argsort(-score, kind="stable")  # equal ones: the better retriever rank first
    listed = [Placed(int(place), float(reranked[place]), float(score[place])) for place in order]
    if certificate.tail == "append":
        listed += [Placed(place, None, None) for place in range(reranked.size, retriever.size)]
    return listed


def unknown_last(scores: Float64) -> Float64:
    """Candidates without a score (nan) below all others, as `missing_reranker="lowest"` places them in calibration."""
    unknown = np.isnan(scores)
    if not unknown.any():
        return scores
    known = scores[~unknown]
    return np.where(unknown, known.min() - 1.0 if known.size else 0.0, scores)
