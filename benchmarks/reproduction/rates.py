"""Counted rates with exact binomial intervals."""

from dataclasses import dataclass

from scipy.special import bdtrc, betaincinv

CHANCE = 0.001  # once in a thousand: below that, an excess over what was promised is not called chance


@dataclass(frozen=True)
class Rate:
    """So many of so many."""

    count: int
    trials: int

    @property
    def share(self) -> float:
        return self.count / self.trials

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """The exact (Clopper-Pearson) interval."""
        tail = (1 - confidence) / 2
        k, n = self.count, self.trials
        low = 0.0 if k == 0 else float(betaincinv(k, n - k + 1, tail))
        high = 1.0 if k == n else float(betaincinv(k + 1, n - k, 1 - tail))
        return low, high

    def exceeds(self, promised: float) -> bool:
        """Is it above what was promised, beyond chance?"""
        return self.count > 0 and float(bdtrc(self.count - 1, self.trials, promised)) < CHANCE

    def __add__(self, other: "Rate") -> "Rate":
        return Rate(self.count + other.count, self.trials + other.trials)

    def __str__(self) -> str:
        low, high = self.interval()
        return f"{self.share:.3f} ({low:.3f} to {high:.3f})"
