"""How the numbers of a claim read: what is measured, in which unit, and which way is better."""

import math
from dataclasses import dataclass

from surecut.certificate import Certificate


@dataclass(frozen=True)
class Quantity:
    """What a claim bounds: the drop, the measure itself, an overlap, or a loss."""

    name: str
    share: bool  # shown in percent?
    rising: bool  # does a larger value mean better?
    claim: str  # "at most", "at least"
    bound: str  # "upper bound", "lower bound"

    def shown(self, value: float | None) -> str:
        """A value in the unit of the claim."""
        if value is None or not math.isfinite(value):
            return "–"
        return f"{100 * value:.2f}%" if self.share else f"{value:.4f}"

    def target(self, value: float) -> str:
        """A target as a person would write it."""
        return f"{100 * value:.6g}%" if self.share else f"{value:.6g}"

    def claimed(self, value: float) -> str:
        return f"{self.name} {self.claim} {self.target(value)}"


def quantity_of(certificate: Certificate) -> Quantity:
    """What this certificate's claim is about."""
    kind, measure = certificate.target["kind"], certificate.measure
    if kind == "at_least":
        return Quantity(f"mean {measure}", False, True, "at least", "lower bound")
    if kind == "agreement":
        name = f"overlap with the unpruned top {certificate.target['k']}"
        return Quantity(name, True, True, "at least", "lower bound")
    if kind == "risk":
        return Quantity(f"mean {measure}", False, False, "at most", "upper bound")
    return Quantity(f"drop of {measure}", kind == "max_drop", False, "at most", "upper bound")


def threshold_shown(threshold: float, rule: str, min_keep: int) -> str:
    """A threshold as it would be set."""
    if threshold == -math.inf:
        return "none (keeps everything)"
    if threshold == math.inf:
        return f"above every key (keeps {min_keep})"
    return f"top {int(-threshold):,}" if rule == "rank" else f"{threshold:.6g}"


def percent(share: float, digits: int = 1) -> str:
    return f"{100 * share:.{digits}f}%"


def confidence_shown(confidence: float) -> str:
    """A confidence to three figures of what is missing from certainty."""
    return f"{100 - 100 * float(f'{1 - confidence:.3g}'):.6g}%"


def capital(text: str) -> str:
    """The text as the beginning of a sentence."""
    return text[:1].upper() + text[1:]
