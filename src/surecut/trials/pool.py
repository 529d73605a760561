"""The pool that trials draw from, with everything that does not depend on the draw computed once."""

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from surecut.arrays import Array, Float64, Int64, Strings
from surecut.candidates import Candidates, counts_by_query, offsets_of
from surecut.choices import Choices
from surecut.curves import ChangePoints, Curves, change_points
from surecut.fitting import Fitted
from surecut.folding import enough, judged_only, tuning_place
from surecut.fusion import best_weight, final_scores, refuse_without_relevant, values_by_weight
from surecut.keying import Keyed
from surecut.lists import Lists
from surecut.measures import AnyMeasure
from surecut.preregistered import preregistered_order
from surecut.rules import Rule

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Applied:
    """A fitted rule on every unit of a pool: the curves of the measure, and what decides who is kept."""

    curves: Curves
    keyed: Keyed


@dataclass(frozen=True, eq=False)
class Pool:
    """Queries taken as the population. A unit is a query, or a group of them."""

    name: str
    data: Candidates
    ids: Strings  # of the units
    unit_of: Int64  # of each query
    members: Int64  # queries by unit
    member_offsets: Int64
    order: Int64  # each unit's place in the pre-registered order
    place: Float64  # each unit's place among tuning folds
    _kept: dict[Hashable, Any] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    @classmethod
    def of(cls, data: Lists, name: str, judged: bool) -> "Pool":
        """The usable queries: judged ones, where judgements are needed."""
        usable = (judged_only(data) if judged else enough(data)).at_hand()
        usable = replace(usable, depth=max(usable.depth or 0, int(usable.lengths.max())))
        ids, unit_of = usable.query_ids, np.arange(len(usable))
        if usable.groups is not None:
            ids, unit_of = np.unique(usable.groups, return_inverse=True)
        order = np.empty(ids.size, dtype=np.int64)
        order[preregistered_order(ids)] = np.arange(ids.size)
        return cls(
            name,
            usable,
            ids,
            unit_of,
            np.argsort(unit_of, kind="stable"),
            offsets_of(np.bincount(unit_of)),
            order,
            tuning_place(ids),
        )

    def __len__(self) -> int:
        return self.order.size

    def queries_of(self, units: Array) -> Int64:
        """The queries of some units, unit by unit (a unit may occur several times)."""
        lengths = np.diff(self.member_offsets)[units]
        taken = offsets_of(lengths)
        rows = np.arange(taken[-1]) + np.repeat(self.member_offsets[units] - taken[:-1], lengths)
        queries: Int64 = self.members[rows]
        return queries

    def weight(self, queries: Int64, measure: AnyMeasure) -> float:
        """The fusion weight that is best for some queries."""
        relevant = self._once("relevant", lambda: counts_by_query(self.data.grades > 0, self.data.offsets))
        refuse_without_relevant(bool(relevant[queries].any()))

        def found() -> Float64:
            return np.concatenate([values_by_weight(piece, measure) for piece in self.data.in_pieces()], axis=1)

        return best_weight(self._once(("weights", measure), found)[:, queries])

    def applied(self, choices: Choices, fitted: Fitted) -> Applied:
        """Curves and keys under a rule: all that a fitted temperature changes is the keys."""
        keyed = self._keyed(fitted.rule, keep=not choices.rule.fits_temperature)
        points = self._change_points(choices, fitted.beta)
        curves = points.keyed(keyed.at(points.rows, points.offsets))
        return Applied(curves if self.data.groups is None else curves.merged(self.unit_of), keyed)

    def _change_points(self, choices: Choices, beta: float) -> ChangePoints:
        settings = (choices.measure, choices.tail, choices.min_keep, choices.max_keep)

        def found() -> ChangePoints:
            pieces = list(self.data.in_pieces())
            points = [change_points(piece, final_scores(piece, beta), *settings) for piece in pieces]
            return ChangePoints.joined(points, offsets_of([piece.retriever.size for piece in pieces])[:-1].tolist())

        return self._once(("points", settings, beta), found)

    def _keyed(self, rule: Rule, keep: bool) -> Keyed:
        if not keep:
            return Keyed.of(rule, self.data)
        return self._once(("keys", str(rule), *rule.parameters.values()), lambda: Keyed.of(rule, self.data))

    def _once(self, name: Hashable, compute: Callable[[], T]) -> T:
        with self._lock:
            if name not in self._kept:
                self._kept[name] = compute()
            found: T = self._kept[name]
            return found
