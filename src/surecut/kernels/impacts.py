"""Scores of all documents from the postings of a query's terms."""

from surecut.arrays import Float32, Int32, Int64
from surecut.kernels.jit import kernel


@kernel
def add_impacts(
    starts: Int64, documents: Int32, impacts: Float32, terms: Int32, weights: Float32, scores: Float32
) -> None:
    """scores[d] += weight of the term in the query * its impact in d, over all postings of the query's terms."""
    for place in range(terms.size):
        weight = weights[place]
        for posting in range(starts[terms[place]], starts[terms[place] + 1]):
            scores[documents[posting]] += weight * impacts[posting]
