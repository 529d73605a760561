"""The real score tables that ship: their stages, and the paper's protocol in its proportions."""

import math
from dataclasses import dataclass

from benchmarks.reproduction.measuring import RR, mean_measure
from benchmarks.reproduction.trials import SMALL_DROP, Named, same_loss, table_3
from surecut.candidates import Candidates
from surecut.curves import full_measure
from surecut.fusion import final_scores, fit_fusion
from surecut.io.shipped import PREFIX
from surecut.io.table import read_table
from surecut.trials.outcome import Trials
from surecut.watching import Watch

TABLES = (
    "quora-duplicates-bm25-minilm",
    "quora-duplicates-bm25-bge",
    "scifact-bm25-minilm",
    "scifact-bm25-bge",
    "nfcorpus-bm25-minilm",
    "nfcorpus-bm25-bge",
)
TUNING_SHARE = 0.2
BELOW_FULL = 0.03


@dataclass(frozen=True)
class Real:
    """One shipped table."""

    name: str
    queries: int  # left for the trials, after the tuning share
    mean_candidates: float
    weight: float
    first_stage: float
    reranked: float
    fused: float
    spread: float  # standard deviation of the fused RR@10
    target: float
    trials: Trials


def target_below(full: float) -> float:
    """The full measure less 3%, rounded down to two digits."""
    return math.floor(round(full * (1 - BELOW_FULL) * 100, 6)) / 100


def fused_table(name: str) -> tuple[Candidates, float]:
    """The fusion weight that a share of the queries gives, and the rest of them, which everything is measured on."""
    tuning, rest = read_table(PREFIX + name).split((TUNING_SHARE, 1 - TUNING_SHARE))
    return rest, fit_fusion(tuning, RR)


def real(name: str, trials: int, watch: Watch) -> Real:
    """A table's stages, and the paper's protocol on it."""
    rest, weight = fused_table(name)
    fused = mean_measure(rest, weight)
    target = target_below(fused)
    drops = (same_loss(target, fused), SMALL_DROP)
    return Real(
        name=name,
        queries=len(rest),
        mean_candidates=float(rest.lengths.mean()),
        weight=weight,
        first_stage=mean_measure(rest, 1.0),
        reranked=mean_measure(rest, 0.0),
        fused=fused,
        spread=float(full_measure(rest, final_scores(rest, weight), RR).std()),
        target=target,
        trials=table_3(rest, target, drops, "MARCO", weight, trials=trials, watch=Named(watch, name)),
    )
