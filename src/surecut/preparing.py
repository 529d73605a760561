"""The calibration queries, reduced to what is tested: one curve of losses a unit, in the pre-registered order."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from surecut.arrays import Int64
from surecut.candidates import Candidates
from surecut.choices import Choices
from surecut.curves import Curves
from surecut.errors import InputError
from surecut.fitting import Fitted
from surecut.keying import Keyed
from surecut.lists import Lists
from surecut.preregistered import in_test_order
from surecut.reducing import CountKept, Reduce, Reduced
from surecut.rules import KEEP_EVERYTHING, Rule
from surecut.scale import Scale


@dataclass(frozen=True, eq=False)
class Prepared:
    """The calibration queries, and what the walk needs of them; units in the pre-registered order."""

    data: Lists
    rule: Rule
    reduced: Reduced
    curves: Curves  # of the measure
    losses: Curves  # of X
    capped: bool  # does max_keep cut any list?

    @cached_property
    def fingerprint(self) -> str:
        """That of the calibration queries."""
        return self.reduced.fingerprint(self.data.query_ids)

    @property
    def scale(self) -> Scale | None:
        return Scale.of(self.reduced.best, self.reduced.lowest, self.reduced.highest)

    @cached_property
    def _keyed(self) -> Keyed | None:
        """Of lists in memory, about which many thresholds may be asked."""
        return Keyed.of(self.rule, self.data) if isinstance(self.data, Candidates) else None

    def kept(self, threshold: float, choices: Choices) -> Int64:
        """How many candidates each query keeps."""
        if threshold == KEEP_EVERYTHING:
            lengths = self.data.lengths
            return lengths if choices.max_keep is None else np.minimum(lengths, choices.max_keep)
        if self._keyed is not None:
            return self._keyed.kept(threshold, choices.min_keep, choices.max_keep)
        counting = CountKept(self.rule, threshold, choices.min_keep, choices.max_keep)
        return np.concatenate(list(self.data.map(counting, scores_only=True)))


def prepare(data: Lists, choices: Choices, fitted: Fitted) -> Prepared:
    """Curves and losses of the calibration queries."""
    reduce = Reduce(
        rule=fitted.rule,
        beta=fitted.beta,
        measure=choices.measure,
        tail=choices.tail,
        min_keep=choices.min_keep,
        max_keep=choices.max_keep,
    )
    reduced = Reduced.joined(data.map(reduce))
    curves = in_test_order(reduced.curves, data, reduced.order)
    losses = losses_of(choices, curves)
    return Prepared(data, fitted.rule, reduced, curves, losses, cuts_any(choices, data.lengths))


def cuts_any(choices: Choices, lengths: Int64) -> bool:
    """Does max_keep cut any of these lists? Then "keep everything" is a claim that has to be tested."""
    return choices.max_keep is not None and bool(lengths.max() > choices.max_keep)


def losses_of(choices: Choices, curves: Curves) -> Curves:
    """The curves of X, which must be as binary as was declared."""
    losses = choices.target.losses(curves)
    if choices.test.needs_binary and not all(np.isin(x, (0.0, 1.0)).all() for x in (losses.start, losses.values)):
        raise InputError("a loss that was declared binary has a value other than 0 and 1")
    return losses
