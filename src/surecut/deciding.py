"""The procedure that was asked for, run on prepared losses: which threshold, and with what right."""

from dataclasses import dataclass
from typing import Any

from surecut.baselines import empirical_threshold, published_procedure
from surecut.choices import Choices
from surecut.curves import Curves
from surecut.fitting import Fitted
from surecut.relaxing import relaxed_confidence, relaxed_level
from surecut.rules import DELTA_SHARES, KEEP_EVERYTHING
from surecut.walk import Steps, fallback


@dataclass(frozen=True)
class Decision:
    """How it ended: the threshold, the status, and what was relaxed or corrected on the way."""

    threshold: float
    status: str
    relaxed: dict[str, Any] | None = None
    reasons: tuple[str, ...] = ()


def decide(choices: Choices, fitted: Fitted, losses: Curves, capped: bool) -> Decision:
    """Run the procedure that was asked for; `capped` says that max_keep cuts some list."""
    level = choices.target.level
    if choices.procedure in ("est", "ert"):
        reason = f"{choices.procedure.upper()} meets the target on the calibration queries only"
        return Decision(empirical_threshold(losses, level), "uncertified", reasons=(reason,))
    if choices.procedure == "paper":
        return _published(choices, losses)
    decision = _walked(choices, fitted, losses, capped)
    reasons = []
    if not choices.test.certified:
        reasons.append(f"the {choices.test.name} test is asymptotic")
    if choices.fit_on_calibration and choices.fits_something:
        reasons.append("something was fitted on the calibration queries")
    if reasons and decision.status != "abstained":
        return Decision(decision.threshold, "uncertified", decision.relaxed, tuple(reasons))
    return decision


def _published(choices: Choices, losses: Curves) -> Decision:
    found = published_procedure(losses, choices.target.level, choices.delta)
    relaxed = None
    if not found.reached:
        relaxed = {
            "published_level": found.corrected_level,
            "published_confidence": None if found.corrected_delta is None else 1 - found.corrected_delta,
        }
    reason = "the published procedure, as published: its guarantee does not hold"
    return Decision(found.threshold, "uncertified", relaxed, (reason,))


def _walked(choices: Choices, fitted: Fitted, losses: Curves, capped: bool) -> Decision:
    target, test = choices.target, choices.test
    steps = Steps.over_breakpoints(losses) if fitted.grid is None else Steps.over_grid(losses, fitted.grid)
    start_is_true = target.met_unpruned and not capped
    relaxed, head_failed = None, False
    if choices.if_unreachable == "relax-target" and not start_is_true:
        share = DELTA_SHARES[len(fitted.starts)][0]
        reached = relaxed_level(test, losses.start, target.level, choices.delta * share)
        head_failed = reached != target.level  # the ladder heads the first chain, and ended before the target
        relaxed = None if reached is None or not head_failed else {"value": target.value_at(reached)}
    threshold = fallback(losses, steps, target.level, test, fitted.starts, choices.delta, start_is_true, head_failed)
    if threshold is not None and not (threshold == KEEP_EVERYTHING and start_is_true):
        return Decision(threshold, "certified")
    if relaxed is not None:
        return Decision(KEEP_EVERYTHING, "relaxed-target", relaxed)
    if choices.if_unreachable == "relax-confidence" and not start_is_true:
        found = relaxed_confidence(test, losses.start, target.level)
        if found is not None:
            return Decision(KEEP_EVERYTHING, "relaxed-confidence", found)
    return Decision(KEEP_EVERYTHING, "abstained")
