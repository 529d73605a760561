"""How good the stages are: retriever alone, reranker alone, and fused with a weight from the tuning fold."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import polars as pl

from surecut.candidates import Candidates
from surecut.curves import full_measure
from surecut.folding import FEWEST, in_tuning_fold
from surecut.frames import from_frame
from surecut.fusion import best_weight, final_scores, values_by_weight
from surecut.measures import AnyMeasure, as_measure
from surecut.system.recipe import FusionSection

_TUNE_SHARE = 0.2  # as calibrate sets aside, and by the same hash: the same queries, the same weight

Parts = Callable[[], Iterator[pl.DataFrame]]


def quality(parts: Parts, qrels: pl.DataFrame | None, fusion: FusionSection) -> dict[str, Any] | None:
    """The measure of each stage over the judged queries that did not choose the weight; None if too little is judged.

    A table may be larger than memory, so its parts are read one after the other.
    """
    if qrels is None or qrels["query_id"].n_unique() < FEWEST or not (qrels["relevance"] > 0).any():
        return None
    measure = as_measure(fusion.measure)
    share = _TUNE_SHARE if fusion.beta == "fit" else 0.0
    beta, tuned_on = _weight(parts, qrels, measure, share) if fusion.beta == "fit" else (fusion.beta, 0)
    stages = {"retriever": 1.0, "reranker": 0.0, "fused": beta}
    values: dict[str, list[Any]] = {name: [] for name in stages}
    for data in _judged(parts, qrels):
        rest = data.take(np.flatnonzero(~in_tuning_fold(data, share)))
        for name, weight in stages.items():
            values[name].append(full_measure(rest, final_scores(rest, weight), measure))
    joined = {name: np.concatenate(each) for name, each in values.items()}
    if tuned_on + joined["fused"].size < FEWEST or not joined["fused"].size:
        return None
    means = {name: float(each.mean()) for name, each in joined.items()}
    return {
        **means,
        "measure": str(measure),
        "queries": int(joined["fused"].size),
        "beta": float(beta),
        "tuned_on": tuned_on,
    }


def _weight(parts: Parts, qrels: pl.DataFrame, measure: AnyMeasure, share: float) -> tuple[float, int]:
    """The best weight on the tuning fold, and how many queries that is."""
    values = np.concatenate(
        [
            values_by_weight(data.take(np.flatnonzero(in_tuning_fold(data, share))), measure)
            for data in _judged(parts, qrels)
        ],
        axis=1,
    )
    return (best_weight(values) if values.size else 0.0), values.shape[1]


def _judged(parts: Parts, qrels: pl.DataFrame) -> Iterator[Candidates]:
    for rows in parts():
        here = qrels.join(rows.select("query_id").unique(), on="query_id", how="semi")
        if here.height:
            data = from_frame(rows, here, missing_reranker="lowest")
            yield data.take(np.flatnonzero(data.judged))
