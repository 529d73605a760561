"""The explorer: the certificate for other targets and confidences, over a grid that no label had a say in.

Every cell is what `calibrate` returns for that target and confidence, with the certificate's other choices. Whoever
picks a target after looking at them all needs the error probability divided by the number of targets, so that is
computed beside it. (If the target was met, a certificate does not tell what was to happen if it is not; then a cell
that does not meet its target abstains.)
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from surecut.calibration import Calibration, quantiles
from surecut.claims import bound_for_reading
from surecut.deciding import Decision, decide
from surecut.targets import Target
from surecut.watching import SILENT, Watch

CONFIDENCES = (0.8, 0.9, 0.95, 0.99)
_VALUES = {
    "max_drop": (0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3),
    "max_drop_abs": (0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.15, 0.2),
    "agreement": (0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99),
}
_OFFSETS = (-0.4, -0.3, -0.2, -0.15, -0.1, -0.05, -0.03, -0.02, -0.01, 0.0, 0.01, 0.02, 0.03, 0.05)
_FACTORS = (0.5, 0.75, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0)


@dataclass(frozen=True)
class Outcome:
    """A certificate in a few numbers."""

    status: str
    threshold: float
    mean_kept: float
    p95: int
    speedup: float
    bound: float | None  # the strongest claim of its kind at that threshold, taken by itself; None: nothing is claimed
    relaxed: Mapping[str, Any] | None


@dataclass(frozen=True)
class Explorer:
    """Outcomes by confidence and target: `alone[c][t]` as asked, `divided[c][t]` with delta / number of targets."""

    targets: tuple[float, ...]
    confidences: tuple[float, ...]
    own: tuple[int, int]  # where the certificate itself stands: confidence, target
    alone: tuple[tuple[Outcome, ...], ...]
    divided: tuple[tuple[Outcome, ...], ...]

    @property
    def divided_confidences(self) -> tuple[float, ...]:
        """At which each cell is certified, so that all targets hold together with the confidence asked for."""
        return tuple(divided(confidence, len(self.targets)) for confidence in self.confidences)


def divided(confidence: float, count: int) -> float:
    """The confidence at which each of several claims must hold, so that all hold together with this one."""
    return 1.0 - (1.0 - confidence) / count


def target_values(target: Target) -> tuple[float, ...]:
    """The targets on the grid: fixed values or distances, and the one that was asked for."""
    if target.kind in _VALUES:
        values = {*_VALUES[target.kind], target.value}
    elif target.kind == "risk":
        values = {round(factor * target.value, 10) for factor in _FACTORS} | {target.value}
    else:
        values = {round(target.value + offset, 10) for offset in _OFFSETS} | {target.value}
    return tuple(sorted(value for value in values if 0 < value < 1))


def explore(rederived: Calibration, watch: Watch = SILENT) -> Explorer:
    """Walk once for every cell, on the same curves."""
    choices = rederived.choices
    targets = target_values(choices.target)
    confidences = tuple(sorted({*CONFIDENCES, choices.confidence}))
    watch.stage("certificates", total=2 * len(targets) * len(confidences))

    def outcomes(level: float) -> tuple[Outcome, ...]:
        return tuple(_outcome(rederived, value, level, watch) for value in targets)

    return Explorer(
        targets,
        confidences,
        own=(confidences.index(choices.confidence), targets.index(choices.target.value)),
        alone=tuple(outcomes(confidence) for confidence in confidences),
        divided=tuple(outcomes(divided(confidence, len(targets))) for confidence in confidences),
    )


def _outcome(rederived: Calibration, value: float, confidence: float, watch: Watch) -> Outcome:
    target = rederived.choices.target.with_value(value)
    choices = replace(rederived.choices, target=target, confidence=confidence)
    prepared = rederived.prepared
    decision = decide(choices, rederived.fitted, target.losses(prepared.curves), prepared.capped)
    abstained = decision.status == "abstained"
    lengths = prepared.data.lengths
    kept = lengths if abstained else prepared.kept(decision.threshold, choices)
    watch.advance(1)
    return Outcome(
        status=decision.status,
        threshold=decision.threshold,
        mean_kept=float(kept.mean()),
        p95=quantiles(kept)["p95"],
        speedup=float(lengths.mean()) / max(float(kept.mean()), 1e-12),
        bound=None if abstained else _bound(replace(rederived, choices=choices), decision),
        relaxed=decision.relaxed,
    )


def _bound(rederived: Calibration, decision: Decision) -> float | None:
    choices, curves = rederived.choices, rederived.prepared.curves
    return bound_for_reading(choices.target, curves.at(decision.threshold), curves.full, choices.test, choices.delta)
