"""Targets: a claim about quality, as a variable X in [0, 1] and a level a, so that it reads E[X] <= a."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from surecut.arrays import Float64
from surecut.curves import Curves
from surecut.errors import InputError
from surecut.measures import NO_CUTOFF, AnyMeasure, OwnFunction, OwnMeasure, overlap
from surecut.registry import unknown

_ROUNDING = 1e-9


@dataclass(frozen=True)
class Target:
    """What is claimed of the measure M, beside M_full, the measure with nothing pruned."""

    value: float
    kind: ClassVar[str]
    is_drop: ClassVar[bool] = False  # is it about the distance to the unpruned list?
    met_unpruned: ClassVar[bool] = False  # is the claim true by definition when nothing is pruned?
    rising: ClassVar[bool] = True  # does a larger value claim more?

    def __post_init__(self) -> None:
        if not isinstance(self.value, int | float) or not 0.0 < self.value < 1.0:
            words = self.kind.replace("_", " ")
            raise InputError(f"a target of '{words}' must lie strictly between 0 and 1, not {self.value}")

    @property
    def level(self) -> float:
        """a, the largest mean of X that the claim allows."""
        return self.level_at(self.value)

    @staticmethod
    def level_at(value: float) -> float:
        """a, for a claim of this kind with another value."""
        raise NotImplementedError

    def value_at(self, level: float) -> float:
        """The value of the claim of this kind that has this level (for claims that can be relaxed)."""
        return round(1.0 - level if self.rising else level, 10)

    @staticmethod
    def variable_at(value: float, measured: Float64, full: Float64) -> Float64:
        """X for a claim of this value, from measured values and the unpruned values of the same queries."""
        raise NotImplementedError

    def estimate(self, measured: Float64, full: Float64) -> float:
        """The quantity the claim is about, as a plain mean over queries."""
        raise NotImplementedError

    def words(self, measure: str) -> str:
        """The claim as a clause: '... <words>'."""
        raise NotImplementedError

    def with_value(self, value: float) -> Self:
        return replace(self, value=value)

    def measure(self, declared: AnyMeasure) -> AnyMeasure:
        """The measure whose curves the claim needs."""
        return declared

    def binary(self, measure: AnyMeasure) -> bool:
        """Is X 0 or 1 by definition?"""
        return measure.binary

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "value": self.value}

    def losses(self, curves: Curves) -> Curves:
        """The curves of X from the curves of M."""
        full = curves.full
        return Curves(
            self.variable(full, full),
            self.variable(curves.start, full),
            curves.offsets,
            curves.keys,
            self.variable(curves.values, full[curves.owners]),
        )

    def variable(self, measured: Float64, full: Float64) -> Float64:
        """X, checked to lie in [0, 1]."""
        return self._checked(self.variable_at(self.value, measured, full))

    @staticmethod
    def _checked(losses: Float64) -> Float64:
        if losses.size and not (losses.min() >= -_ROUNDING and losses.max() <= 1 + _ROUNDING):
            raise InputError("a loss lies outside [0, 1]: the measure must be in [0, 1]")
        return np.clip(losses, 0.0, 1.0)


@dataclass(frozen=True)
class AtLeast(Target):
    """E[M] >= value."""

    kind: ClassVar[str] = "at_least"

    @staticmethod
    def level_at(value: float) -> float:
        return 1.0 - value

    @staticmethod
    def variable_at(value: float, measured: Float64, full: Float64) -> Float64:
        return 1.0 - measured

    def estimate(self, measured: Float64, full: Float64) -> float:
        return float(np.mean(measured))

    def words(self, measure: str) -> str:
        return f"mean {measure} is at least {self.value:.10g}"


@dataclass(frozen=True)
class MaxDrop(Target):
    """E[M] >= (1 - value) E[M_full]."""

    kind: ClassVar[str] = "max_drop"
    is_drop: ClassVar[bool] = True
    met_unpruned: ClassVar[bool] = True
    rising: ClassVar[bool] = False

    @staticmethod
    def level_at(value: float) -> float:
        return 1.0 / (2.0 - value)

    @staticmethod
    def variable_at(value: float, measured: Float64, full: Float64) -> Float64:
        losses: Float64 = ((1.0 - value) * full - measured + 1.0) / (2.0 - value)
        return losses

    def estimate(self, measured: Float64, full: Float64) -> float:
        whole = float(np.mean(full))
        return 1.0 - float(np.mean(measured)) / whole if whole > 0 else 0.0

    def words(self, measure: str) -> str:
        return f"mean {measure} is at most {100 * self.value:.6g}% below reranking everything"

    def binary(self, measure: AnyMeasure) -> bool:
        return False


@dataclass(frozen=True)
class MaxDropAbsolute(Target):
    """E[M_full] - E[M] <= value."""

    kind: ClassVar[str] = "max_drop_abs"
    is_drop: ClassVar[bool] = True
    met_unpruned: ClassVar[bool] = True
    rising: ClassVar[bool] = False

    @staticmethod
    def level_at(value: float) -> float:
        return (1.0 + value) / 2.0

    @staticmethod
    def variable_at(value: float, measured: Float64, full: Float64) -> Float64:
        losses: Float64 = (full - measured + 1.0) / 2.0
        return losses

    def estimate(self, measured: Float64, full: Float64) -> float:
        return float(np.mean(full) - np.mean(measured))

    def words(self, measure: str) -> str:
        return f"mean {measure} is at most {self.value:.10g} below reranking everything"

    def binary(self, measure: AnyMeasure) -> bool:
        return False


@dataclass(frozen=True)
class Risk(Target):
    """E[L] <= value for a loss of the user's; the curves are those of L itself."""

    loss: OwnFunction = field(default=lambda grades, missed: 0.0)
    is_binary: bool = False
    kind: ClassVar[str] = "risk"
    rising: ClassVar[bool] = False

    @staticmethod
    def level_at(value: float) -> float:
        return value

    @staticmethod
    def variable_at(value: float, measured: Float64, full: Float64) -> Float64:
        return measured

    def estimate(self, measured: Float64, full: Float64) -> float:
        return float(np.mean(measured))

    def words(self, measure: str) -> str:
        return f"mean {measure} is at most {self.value:.10g}"

    def measure(self, declared: AnyMeasure) -> AnyMeasure:
        return OwnMeasure(self.loss, getattr(self.loss, "__name__", "loss"))

    def binary(self, measure: AnyMeasure) -> bool:
        return self.is_binary


@dataclass(frozen=True)
class Agreement(AtLeast):
    """E[overlap with the unpruned top k] >= value; needs no judgements."""

    k: int = 10
    kind: ClassVar[str] = "agreement"
    met_unpruned: ClassVar[bool] = True

    def words(self, measure: str) -> str:
        return f"on average at least {100 * self.value:.6g}% of the unpruned top {self.k} is still there"

    def measure(self, declared: AnyMeasure) -> AnyMeasure:
        return overlap(self.k)

    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), "k": self.k}


def at_least(value: float) -> AtLeast:
    """The mean of the measure is at least `value`.

    >>> at_least(0.38).words("RR@10")
    'mean RR@10 is at least 0.38'
    """
    return AtLeast(value)


def max_drop(value: float, absolute: bool = False) -> MaxDrop | MaxDropAbsolute:
    """The mean is at most `value` below reranking everything: relative (0.01 = 1%), or in measure points.

    >>> max_drop(0.01).words("RR@10")
    'mean RR@10 is at most 1% below reranking everything'
    >>> max_drop(0.004, absolute=True).words("RR@10")
    'mean RR@10 is at most 0.004 below reranking everything'
    """
    return MaxDropAbsolute(value) if absolute else MaxDrop(value)


def risk(loss: OwnFunction, value: float, binary: bool = False) -> Risk:
    """The mean of `loss(grades_in_final_order, missed_grades)` is at most `value`.

    The loss is called at every prefix of every list and lies in [0, 1]. Unjudged documents have grade 0; missed are
    the grades of judged documents that are not in the final list, never retrieved or pruned. `binary` declares that
    it is 0 or 1 by definition, which allows the exact test.

    >>> risk(lambda grades, missed: float(not (grades[:3] > 0).any()), 0.1, binary=True).value
    0.1
    """
    if not callable(loss):
        raise InputError("risk(loss, value): the loss must be a function of (grades, missed grades)")
    return Risk(value, loss, binary)


def agreement(value: float, k: int = 10) -> Agreement:
    """On average at least this share of the unpruned top k is still in the top k; needs no judgements.

    >>> agreement(0.95, k=10).words("")
    'on average at least 95% of the unpruned top 10 is still there'
    """
    if not isinstance(k, int) or not 1 <= k < NO_CUTOFF:
        raise InputError(f"agreement needs a top k of at least 1, not {k}")
    return Agreement(value, k)


def target_from_json(record: dict[str, Any], loss: OwnFunction | None = None) -> Target:
    """The target a certificate names; a `risk` needs its function again."""
    kind, value = record["kind"], float(record["value"])
    if kind == "agreement":
        return agreement(value, record.get("k"))  # type: ignore[arg-type]  # refused there
    if kind == "risk":
        if loss is None:
            raise InputError("the certificate bounds a loss of your own: check it in Python, with loss=")
        return risk(loss, value)
    simple: dict[str, type[Target]] = {c.kind: c for c in (AtLeast, MaxDrop, MaxDropAbsolute)}
    if kind not in simple:
        raise InputError(unknown("kind of target", str(kind), [*simple, "agreement", "risk"]))
    return simple[kind](value)


def claimed_quantity(kind: str) -> tuple[str, Callable[[float], str]]:
    """What a claim of a kind is about, "drop " or nothing, and how its values are written."""
    unit = "drop " if kind in (MaxDrop.kind, MaxDropAbsolute.kind) else ""
    if kind in (MaxDrop.kind, Agreement.kind):
        return unit, lambda value: f"{100 * value:.1f}%"
    return unit, lambda value: f"{value:.3f}"


CLAIMS: dict[str, Target] = {
    "max-drop": MaxDrop(0.5),
    "max-drop-abs": MaxDropAbsolute(0.5),
    "at-least": AtLeast(0.5),
    "agreement": Agreement(0.5, 10),
}
"""Kinds of claims by their names on the command line; the values are to be replaced."""
