"""The scale of the retriever's scores in calibration, by which scores of another retriever are told.

Nothing here can prove that a list comes from the certificate's retriever; it tells lists that cannot.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from surecut.arrays import Bool, Float32, Float64
from surecut.errors import InputError

ENOUGH_LISTS = 8
"""So many lists of which none has a usual best score; of independent queries chance does that about once in 10 ** 8."""

_USUAL = (0.05, 0.95)
_RANGES_BEYOND = 3.0  # a pasted paragraph as a query scores far above all others
_ODD_SHARE = 0.01  # of the lists of a batch


@dataclass(frozen=True)
class Scale:
    """The lowest and the highest score, and where the best scores of nine queries in ten lie."""

    lowest: float
    highest: float
    usual_best_from: float
    usual_best_to: float

    @classmethod
    def of(cls, best: Float32, lowest: float, highest: float) -> "Scale | None":
        """The scale of a sample, from the best score of each list that has any, and the ends of all scores."""
        if not best.size:
            return None
        usual = np.quantile(best, _USUAL, method="inverted_cdf")
        signless = (float(bound) + 0.0 for bound in (lowest, highest, *usual))  # which zero it is depends on the order
        return cls(*signless)

    @classmethod
    def from_json(cls, record: Mapping[str, Any] | None) -> "Scale | None":
        return None if record is None else cls(**record)

    def to_json(self) -> dict[str, float]:
        return asdict(self)

    def usual(self, best: Float64) -> Bool:
        """Which of these best scores are among the usual ones?"""
        usual: Bool = (best >= self.usual_best_from) & (best <= self.usual_best_to)
        return usual

    def refuse_list(self, best: float, worst: float) -> None:
        """Refuse a list that leaves the scores of calibration by more than three times their range, or their sign."""
        if self._beyond(np.array([best]), np.array([worst])).any():
            raise InputError(
                f"scores from {worst:.4g} to {best:.4g}, but the certificate's retriever gives "
                f"{self.lowest:.4g} to {self.highest:.4g}: {_CURE}"
            )

    def refuse_batch(self, best: Float64, worst: Float64) -> None:
        """Refuse lists of which more than one in a hundred would be refused alone, or none has a usual best score."""
        beyond = self._beyond(best, worst)
        if beyond.mean() > _ODD_SHARE:
            place = int(np.argmax(beyond))
            self.refuse_list(float(best[place]), float(worst[place]))
        self.refuse_lists(best)

    def _beyond(self, best: Float64, worst: Float64) -> Bool:
        margin = _RANGES_BEYOND * (self.highest - self.lowest) or max(abs(self.highest), 1.0)
        beyond: Bool = (best > self.highest + margin) | (worst < self.lowest - margin)
        if self.lowest >= 0:  # a sign that never was
            beyond |= best < 0
        if self.highest <= 0:
            beyond |= worst > 0
        return beyond

    def refuse_lists(self, best: Float64) -> None:
        """Refuse eight lists or more of which none has a usual best score."""
        if best.size >= ENOUGH_LISTS and not self.usual(best).any():
            raise InputError(
                f"the best scores of {best.size:,} lists lie between {best.min():.4g} and {best.max():.4g}, and not "
                f"one between {self.usual_best_from:.4g} and {self.usual_best_to:.4g}, where those of nine queries in "
                f"ten lay in calibration: {_CURE}"
            )


_CURE = (
    "this is another retriever or another scale; give the scores that the certificate was calibrated on, or allow "
    "another system on your own responsibility (--any-system, any_system=True)"
)
