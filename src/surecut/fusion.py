"""Evidence fusion: final = beta * retriever + (1 - beta) * reranker, and the best beta."""

from dataclasses import dataclass

import numpy as np

from surecut.arrays import Float64
from surecut.candidates import Candidates
from surecut.curves import full_measure
from surecut.errors import InputError
from surecut.finishing import fused
from surecut.lists import Lists, by_id
from surecut.measures import AnyMeasure

GRID = np.concatenate(([0.0], 1 / (1 + np.exp(-np.linspace(-10, 10, 101))), [1.0]))
"""Weights tried: even in log-odds, because the two scores may live on very different scales."""


def final_scores(data: Candidates, beta: float = 0.0) -> Float64:
    """The scores that order the final list; with beta = 0 the reranker's own."""
    if data.reranker is None:
        raise InputError("there are no reranker scores: give the reranker's run, or a table that has them")
    return fused(data.retriever, data.reranker, beta)


def fit_fusion(tuning: Lists, measure: AnyMeasure) -> float:
    """The weight with the best mean measure of the unpruned list; the smallest one if several are."""
    found = list(tuning.map(_ForWeight(measure)))
    refuse_without_relevant(any(relevant for _, relevant in found))
    return best_weight(np.concatenate([values for values, _ in found], axis=1)[:, by_id(tuning)])


@dataclass(frozen=True)
class _ForWeight:
    measure: AnyMeasure

    def __call__(self, data: Candidates) -> tuple[Float64, bool]:
        """The measure by weight, and whether any candidate is relevant."""
        return values_by_weight(data, self.measure), bool(np.any(data.grades > 0))


def refuse_without_relevant(relevant: bool) -> None:
    """Without a relevant candidate every weight is as good as any other."""
    if not relevant:
        raise InputError("no judged tuning query has a relevant candidate to fit the fusion weight on: give the weight")


def values_by_weight(data: Candidates, measure: AnyMeasure) -> Float64:
    """The measure of each query's unpruned list, a row for each weight on the grid."""
    return np.array([full_measure(data, final_scores(data, beta), measure) for beta in GRID])


def best_weight(values: Float64) -> float:
    """The weight whose row has the largest mean; the smallest one if several have."""
    return float(GRID[int(np.argmax(values.mean(axis=1)))])


def check_fusion(fusion: float | str) -> None:
    if fusion == "fit":
        return
    if isinstance(fusion, str) or not 0.0 <= fusion <= 1.0:
        raise InputError(f"fusion must be a weight between 0 and 1, or 'fit', not {fusion!r}")
