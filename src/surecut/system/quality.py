"""How good the stages are: retriever alone, reranker alone, and fused with a weight from the tuning fold."""

from typing import Any

import polars as pl

from surecut.curves import full_measure
from surecut.folding import FEWEST, judged_only, set_aside
from surecut.frames import from_frame
from surecut.fusion import final_scores, fit_fusion
from surecut.measures import as_measure
from surecut.system.recipe import FusionSection

_TUNE_SHARE = 0.2  # as calibrate sets aside, and by the same hash: the same queries, the same weight


def quality(rows: pl.DataFrame, qrels: pl.DataFrame | None, fusion: FusionSection) -> dict[str, Any] | None:
    """The measure of each stage over the judged queries that did not choose the weight; None if too little is."""
    data = None if qrels is None else from_frame(rows, qrels)
    if data is None or int(data.judged.sum()) < 2 * FEWEST:
        return None
    if not (data.grades > 0).any():
        return None
    measure = as_measure(fusion.measure)
    judged, beta, tuned_on = judged_only(data), fusion.beta, 0
    if beta == "fit":
        folds = set_aside(judged, _TUNE_SHARE, "fold")
        assert folds.tuning is not None
        judged, tuned_on = folds.calibration, len(folds.tuning)
        beta = fit_fusion(folds.tuning, measure)

    def mean(weight: float) -> float:
        return float(full_measure(judged, final_scores(judged, weight), measure).mean())

    return {
        "measure": str(measure),
        "queries": len(judged),
        "retriever": mean(1.0),
        "reranker": mean(0.0),
        "fused": mean(float(beta)),
        "beta": float(beta),
        "tuned_on": tuned_on,
    }
