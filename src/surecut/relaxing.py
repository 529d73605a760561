"""When the target cannot be reached: a looser target, or an honest word about the confidence."""

from typing import Any

from surecut.arrays import Float64
from surecut.bounds.base import MeanTest, descending_levels
from surecut.bounds.wsr import evidence_factor


def relaxed_level(test: MeanTest, losses: Float64, level: float, delta: float) -> float | None:
    """The last level rejected for the full list: .999, .998, ... while above the target, then the target.

    The ladder is the head of the full-list chain and uses that chain's own share of delta, chosen before
    the run. Run afterwards at a fresh delta it would not keep its promise.
    """
    reached = None
    for rung in [*(a for a in descending_levels() if a > level), level]:
        if not test.decision(losses, rung, delta):
            break
        reached = rung
    return reached


def relaxed_confidence(test: MeanTest, losses: Float64, level: float) -> dict[str, Any] | None:
    """The smallest delta on .99, .98, ... such that it and every larger one reject for the full list.

    A level chosen after seeing the data is no confidence level; the evidence factor beside it is a claim.
    """
    smallest = None
    for delta in descending_levels(0.01):
        if not test.decision(losses, level, delta):
            break
        smallest = delta
    if smallest is None:
        return None
    return {"confidence": round(1.0 - smallest, 10), "evidence_factor": evidence_factor(losses, level)}
