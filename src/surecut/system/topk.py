"""The best k of many scores, equal ones in the order that trec_eval gives them."""

from dataclasses import dataclass

import numpy as np

from surecut.arrays import Array, Float32, Int32, Int64


@dataclass(frozen=True)
class Hits:
    """One query's candidates, best first: numbers of documents and their scores."""

    documents: Int64
    scores: Float32


def best(scores: Float32, tie_order: Int32, k: int, floor: float = -np.inf) -> Hits:
    """The k documents with the highest scores above `floor`; among equals, the id that comes last."""
    above: Array = np.flatnonzero(scores > floor)
    if above.size > k:
        border = np.partition(scores[above], above.size - k)[above.size - k]
        above = above[scores[above] >= border]  # everything equal to the last one is still in the running
    return ranked(above, scores[above], tie_order, k)


def ranked(documents: Array, scores: Float32, tie_order: Int32, k: int) -> Hits:
    """Found documents in final order: score descending, then id descending."""
    order = np.lexsort((-tie_order[documents].astype(np.int64), -scores))[:k]
    return Hits(documents[order].astype(np.int64), scores[order].astype(np.float32))
