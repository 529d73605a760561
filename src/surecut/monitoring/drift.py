"""Has the traffic changed? A conformal test of the retriever's score profiles, which needs no labels.

Each list is reduced to a few numbers that depend on nothing but the list. Each number gets a conformal p-value, its
rank among the calibration queries and all traffic so far, with ties broken at random: as long as all of them are
exchangeable, these are independent and uniform. A simple-jumper martingale bets that they are not. One of several
martingales ever reaches A times their number with a probability of at most 1/A.

It sees that queries or scores have become other ones, and is blind to a reranker or retriever that has become worse.
"""

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from surecut.arrays import Float32, Float64, Int64
from surecut.candidates import Candidates
from surecut.kernels.keys import mean_and_sd

PROFILE = ("best", "spread", "peak")
"""The best score, the standard deviation of the scores, and how many of those the best lies above their mean."""

_JUMP = 0.01
_BETS = np.array([-1.0, 0.0, 1.0])


def profile(scores: Float32) -> dict[str, float]:
    """What is looked at of one query's descending scores, to three significant digits, so that ranks are few."""
    mean, sd = mean_and_sd(scores)
    best = float(scores[0])
    numbers = (best, sd, (best - mean) / sd)
    return {name: float(f"{number:.3g}") for name, number in zip(PROFILE, numbers, strict=True)}


def profiles(data: Candidates) -> Iterator[dict[str, float]]:
    """The profile of every query that has candidates."""
    for low, high in zip(data.offsets[:-1].tolist(), data.offsets[1:].tolist(), strict=True):
        if high > low:
            yield profile(data.retriever[low:high])


@dataclass
class Ranks:
    """How often each value has been seen."""

    values: Float64 = field(default_factory=lambda: np.empty(0))
    counts: Int64 = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    @classmethod
    def of(cls, seen: Iterable[float]) -> "Ranks":
        values, counts = np.unique(np.fromiter(seen, dtype=np.float64), return_counts=True)
        return cls(values, counts.astype(np.int64))

    def p_value(self, value: float, chance: float) -> float:
        """The share of values above this one, itself among them; `chance` in [0, 1) decides among equal ones."""
        place, equal = self._find(value)
        above = int(self.counts[place + (equal > 0) :].sum())
        return (above + chance * (equal + 1)) / (int(self.counts.sum()) + 1)

    def add(self, value: float) -> None:
        place, equal = self._find(value)
        if equal:
            self.counts[place] += 1
        else:
            self.values = np.insert(self.values, place, value)
            self.counts = np.insert(self.counts, place, 1)

    def _find(self, value: float) -> tuple[int, int]:
        place = int(np.searchsorted(self.values, value))
        there = place < self.values.size and self.values[place] == value
        return place, int(self.counts[place]) if there else 0


@dataclass
class Jumper:
    """The simple-jumper martingale: it bets 1 + e (p - 1/2), e in {-1, 0, 1}, and now and then changes its mind."""

    shares: Float64 = field(default_factory=lambda: np.full(_BETS.size, 1 / _BETS.size))
    log_capital: float = 0.0

    def bet(self, p: float) -> None:
        moved = (1 - _JUMP) * self.shares + _JUMP / _BETS.size
        won = moved * (1 + _BETS * (p - 0.5))
        grown = float(won.sum())
        self.shares, self.log_capital = won / grown, self.log_capital + math.log(grown)


@dataclass
class Drift:
    """One martingale for each number of the profile."""

    ranks: dict[str, Ranks] = field(default_factory=lambda: {name: Ranks() for name in PROFILE})
    jumpers: dict[str, Jumper] = field(default_factory=lambda: {name: Jumper() for name in PROFILE})

    @classmethod
    def beside(cls, reference: Candidates) -> "Drift":
        """A test that knows the calibration queries."""
        seen = list(profiles(reference))
        return cls({name: Ranks.of(each[name] for each in seen) for name in PROFILE})

    @property
    def seen(self) -> int:
        """How many lists have been seen, those of calibration among them."""
        return int(self.ranks[PROFILE[0]].counts.sum())

    @property
    def log_evidence(self) -> float:
        """Of the largest martingale, divided by their number."""
        return max(jumper.log_capital for jumper in self.jumpers.values()) - math.log(len(PROFILE))

    @property
    def suspect(self) -> str:
        """The number of the profile that speaks loudest."""
        return max(PROFILE, key=lambda name: self.jumpers[name].log_capital)

    def observe(self, seen: Mapping[str, float], salt: str, identity: str) -> None:
        """One more list; equal ranks are decided by a hash of its id, so that counting again gives the same."""
        for name in PROFILE:
            self.jumpers[name].bet(self.ranks[name].p_value(seen[name], _chance(f"{salt} {name} {identity}")))
            self.ranks[name].add(seen[name])

    def to_json(self) -> dict[str, Any]:
        return {
            name: {
                "values": self.ranks[name].values.tolist(),
                "counts": self.ranks[name].counts.tolist(),
                "shares": self.jumpers[name].shares.tolist(),
                "log_capital": self.jumpers[name].log_capital,
            }
            for name in PROFILE
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> "Drift":
        return cls(
            {
                name: Ranks(np.array(each["values"], dtype=np.float64), np.array(each["counts"], dtype=np.int64))
                for name, each in record.items()
            },
            {name: Jumper(np.array(each["shares"]), each["log_capital"]) for name, each in record.items()},
        )


def _chance(text: str) -> float:
    """A number in [0, 1) that nobody chose."""
    return (int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 11) / 2.0**53
