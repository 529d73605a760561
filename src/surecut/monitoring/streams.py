"""What is watched, folded into a few numbers, one observation at a time.

claim      X of the certificate's own target, against its level
agreement  1 - overlap with the unpruned top k (shadow reranking), against a floor that was declared
drift      score profiles of the traffic, against those of calibration
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from surecut.errors import InputError
from surecut.monitoring.betting import FRESH, Logs, e_cusum, e_process, log_factors, log_mean
from surecut.monitoring.drift import Drift

CLAIM, AGREEMENT, DRIFT = "claim", "agreement", "drift"
STREAMS = (CLAIM, AGREEMENT, DRIFT)
TITLES = {CLAIM: "claim", AGREEMENT: "agreement", DRIFT: "traffic"}


@dataclass(frozen=True)
class Levels:
    """Evidence that raises an alarm, and what that promises."""

    ever: float = 20.0  # while nothing is wrong it is ever reached with a probability of at most 1 / ever
    recent: float = 1000.0  # while nothing is wrong at least so many observations pass before it, on average

    def __post_init__(self) -> None:
        for level in (self.ever, self.recent):
            if not 1.0 < level < math.inf:
                raise InputError(f"an alarm at {level:g}: evidence begins at 1, so an alarm is at more than that")


USUAL_LEVELS = Levels()


@dataclass(frozen=True)
class Evidence:
    """After an observation: natural logarithms of the e-process (or martingale) and of the e-CUSUM, if there is one."""

    ever: float
    recent: float = 0.0


@dataclass
class Mean:
    """Observations in [0, 1] whose mean must not exceed a level; without a level they are only counted."""

    level: float | None
    count: int = 0
    measured: float = 0.0  # sums of the measure itself, for reading
    full: float = 0.0
    ever: Logs = FRESH
    recent: Logs = FRESH
    alarms: dict[str, int] = field(default_factory=dict)  # kind: after how many observations

    def observe(self, x: float, levels: Levels, measured: float = 0.0, full: float = 0.0) -> Evidence | None:
        self.count, self.measured, self.full = self.count + 1, self.measured + measured, self.full + full
        if self.level is None:
            return None
        factors = log_factors(x, self.level)
        self.ever, self.recent = e_process(self.ever, factors), e_cusum(self.recent, factors)
        evidence = self.evidence
        for kind, log, limit in (("ever", evidence.ever, levels.ever), ("recent", evidence.recent, levels.recent)):
            if log >= math.log(limit):
                self.alarms.setdefault(kind, self.count)
        return evidence

    @property
    def evidence(self) -> Evidence:
        return Evidence(log_mean(self.ever), log_mean(self.recent))

    def to_json(self) -> dict[str, Any]:
        return vars(self).copy()

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> "Mean":
        return cls(**{**record, "ever": tuple(record["ever"]), "recent": tuple(record["recent"])})


@dataclass
class Traffic:
    """Score profiles, and whether they are still those of calibration."""

    drift: Drift = field(default_factory=Drift)
    count: int = 0
    alarms: dict[str, int] = field(default_factory=dict)

    def observe(self, profile: Mapping[str, float], salt: str, identity: str, levels: Levels) -> Evidence:
        self.count += 1
        self.drift.observe(profile, salt, identity)
        evidence = self.evidence
        if evidence.ever >= math.log(levels.ever):
            self.alarms.setdefault("ever", self.count)
        return evidence

    @property
    def evidence(self) -> Evidence:
        return Evidence(self.drift.log_evidence)

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "drift": self.drift.to_json()}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> "Traffic":
        return cls(**{**record, "drift": Drift.from_json(record["drift"])})


@dataclass
class State:
    """All three streams of one period."""

    claim: Mean
    agreement: Mean
    drift: Traffic = field(default_factory=Traffic)
    complete: int = 0  # queries with all that a recalibration needs

    def to_json(self) -> dict[str, Any]:
        return {**{name: getattr(self, name).to_json() for name in STREAMS}, "complete": self.complete}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> "State":
        return cls(
            Mean.from_json(record[CLAIM]),
            Mean.from_json(record[AGREEMENT]),
            Traffic.from_json(record[DRIFT]),
            record["complete"],
        )
