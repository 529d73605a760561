"""Curves: each query's measure as a step function of the threshold, stored as its change points.

The measure of a query changes only when a relevant candidate enters the survivors or an entrant outranks
one, a handful of times in a list of a thousand. Everything after this works on those few numbers.
"""

import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from surecut.arrays import Array, Float64, Int64
from surecut.candidates import UNJUDGED, Candidates, offsets_of
from surecut.errors import InputError
from surecut.measures import NO_CUTOFF, AnyMeasure, Measure, OwnMeasure

Tail = Literal["drop", "append"]
TAILS = ("drop", "append")


def as_tail(tail: str) -> Tail:
    """A tail by its name in a certificate."""
    return "append" if tail == "append" else "drop"


@dataclass(frozen=True, eq=False)
class Curves:
    """One step function a query, from keeping everything to keeping the least the rule allows.

    `full` has nothing pruned; `start` is the longest list the rule keeps (they differ under `max_keep`).
    Event `e` of query `q` (`offsets[q] <= e < offsets[q + 1]`) says: once the threshold exceeds `keys[e]`,
    the value is `values[e]`. A query's events run from its longest prefix to its shortest.
    """

    full: Float64
    start: Float64
    offsets: Int64
    keys: Float64
    values: Float64

    def __len__(self) -> int:
        return self.full.size

    @property
    def owners(self) -> Int64:
        """The query of each event."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    @property
    def changes(self) -> Float64:
        """By how much each event changes its query's value."""
        before = np.empty_like(self.values)
        before[1:] = self.values[:-1]
        filled = np.diff(self.offsets) > 0
        before[self.offsets[:-1][filled]] = self.start[filled]
        return self.values - before

    @classmethod
    def joined(cls, parts: Sequence["Curves"]) -> "Curves":
        """Those of several pieces, one after the other."""
        if len(parts) == 1:
            return parts[0]
        offsets = offsets_of(np.concatenate([np.diff(part.offsets) for part in parts]))
        full, start, keys, values = (
            np.concatenate([getattr(part, each) for part in parts]) for each in ("full", "start", "keys", "values")
        )
        return cls(full, start, offsets, keys, values)

    def take(self, queries: Array) -> "Curves":
        """Some queries, by position (a position may occur several times)."""
        from surecut.kernels.events import take_events

        offsets = offsets_of(np.diff(self.offsets)[queries])
        taken = take_events(self.keys, self.values, self.offsets[:-1][queries], offsets)
        return Curves(self.full[queries], self.start[queries], offsets, *taken)

    def at(self, threshold: float) -> Float64:
        """Every query's value when candidates with a key below the threshold are pruned."""
        passed = np.concatenate(([0], np.cumsum(self.keys < threshold)))
        count = passed[self.offsets[1:]] - passed[self.offsets[:-1]]
        last = np.maximum(self.offsets[:-1] + count - 1, 0)
        if self.values.size == 0:
            return self.start.copy()
        return np.where(count > 0, self.values[last], self.start)

    def merged(self, units: Array) -> "Curves":
        """One curve a unit: the mean over its queries (`units[q]` numbers the unit of query `q`)."""
        from surecut.kernels.events import running_values

        count = int(units.max()) + 1
        sizes = np.bincount(units, minlength=count)
        unit = units[self.owners]
        order = np.lexsort((self.keys, unit))  # stable: a query's own events stay in their order
        change = self.changes[order] / sizes[unit[order]]
        start = np.bincount(units, weights=self.start, minlength=count) / sizes
        full = np.bincount(units, weights=self.full, minlength=count) / sizes
        offsets = offsets_of(np.bincount(unit, minlength=count))
        return Curves(full, start, offsets, self.keys[order], running_values(start, change, offsets))


@dataclass(frozen=True, eq=False)
class ChangePoints:
    """Curves before a rule is chosen: event `e` is the removal of the candidate in row `rows[e]`."""

    full: Float64
    start: Float64
    offsets: Int64
    rows: Int64
    values: Float64

    @classmethod
    def joined(cls, parts: Sequence["ChangePoints"], firsts: Sequence[int]) -> "ChangePoints":
        """Those of several pieces, which begin at these rows."""
        if len(parts) == 1:
            return parts[0]
        return cls(
            np.concatenate([part.full for part in parts]),
            np.concatenate([part.start for part in parts]),
            offsets_of(np.concatenate([np.diff(part.offsets) for part in parts])),
            np.concatenate([part.rows + first for part, first in zip(parts, firsts, strict=True)]),
            np.concatenate([part.values for part in parts]),
        )

    def keyed(self, keys: Float64) -> Curves:
        """The curves under a rule, which gives the candidate of each event a key."""
        return Curves(self.full, self.start, self.offsets, keys, self.values)


def measure_curves(
    data: Candidates,
    keys: Float64,
    final: Float64,
    measure: AnyMeasure,
    tail: Tail = "drop",
    min_keep: int = 1,
    max_keep: int | None = None,
) -> Curves:
    """The measure of each query's final list at every threshold.

    `keys` decides who survives, `final` how the survivors are ordered (ties: better retriever rank).
    """
    points = change_points(data, final, measure, tail, min_keep, max_keep)
    return points.keyed(keys[points.rows])


def change_points(
    data: Candidates,
    final: Float64,
    measure: AnyMeasure,
    tail: Tail = "drop",
    min_keep: int = 1,
    max_keep: int | None = None,
) -> ChangePoints:
    """Where the measure of each query's final list changes, as its candidates go from the last to the first."""
    longest = NO_CUTOFF if max_keep is None else max_keep
    if isinstance(measure, OwnMeasure):
        return _own_change_points(data, final, measure, tail, min_keep, longest)
    return _kernel_change_points(data, final, measure, tail, min_keep, longest)


def full_measure(data: Candidates, final: Float64, measure: AnyMeasure) -> Float64:
    """The measure of each query's final list with nothing pruned."""
    if isinstance(measure, OwnMeasure):
        return np.array(
            [
                _own_value(measure, grades[np.lexsort((np.arange(grades.size), -scores))], missed)
                for scores, grades, missed in _queries(data, final)
            ]
        )
    return _kernel_change_points(data, final, measure, "drop", NO_CUTOFF, NO_CUTOFF).full


def _kernel_change_points(
    data: Candidates, final: Float64, measure: Measure, tail: Tail, min_keep: int, max_keep: int
) -> ChangePoints:
    from surecut.kernels import measures as kernels

    cutoff = measure.cutoff or NO_CUTOFF
    if measure.needs_judgements:
        grades = data.grades
        totals = measure.totals(data.grades, data.offsets, data.missed, data.missed_offsets)
    else:
        grades = kernels.mark_top(final, data.offsets, cutoff)
        totals = np.minimum(data.lengths, cutoff).astype(np.float64)
    full, start, offsets, rows, values = kernels.measure_curves(
        final,
        grades,
        data.offsets,
        totals,
        measure.family.code,
        cutoff,
        measure.rel,
        tail == "append",
        min_keep,
        max_keep,
    )
    if not measure.needs_judgements:  # an empty list has nothing to disagree about
        full, start = np.where(totals == 0, 1.0, full), np.where(totals == 0, 1.0, start)
    return ChangePoints(full, start, offsets, rows, values)


def _queries(data: Candidates, final: Float64) -> Iterator[tuple[Float64, Array, Array]]:
    """Final scores, grades and missed grades of each query."""
    for q in range(len(data)):
        rows = slice(data.offsets[q], data.offsets[q + 1])
        yield final[rows], data.grades[rows], data.missed[data.missed_offsets[q] : data.missed_offsets[q + 1]]


def _own_change_points(
    data: Candidates, final: Float64, measure: OwnMeasure, tail: Tail, min_keep: int, max_keep: int
) -> ChangePoints:
    """The user's function at every prefix of every query."""
    full, start = np.empty(len(data)), np.empty(len(data))
    rows: list[int] = []
    changed: list[float] = []
    counts = np.zeros(len(data), dtype=np.int64)
    for q, (scores, grades, missed) in enumerate(_queries(data, final)):
        values = []
        for n, seen in enumerate(_prefixes_in_final_order(scores, grades)):
            pruned = grades[n:]
            if tail == "append":
                values.append(_own_value(measure, np.concatenate((seen, pruned)), missed))
            else:
                values.append(_own_value(measure, seen, np.concatenate((missed, pruned[pruned != UNJUDGED]))))
        longest = min(grades.size, max_keep)
        full[q], start[q] = values[-1], values[longest]
        for n in range(longest, min_keep, -1):  # removing candidate n leaves the first n - 1
            if values[n - 1] != values[n]:
                rows.append(int(data.offsets[q]) + n - 1)
                changed.append(values[n - 1])
                counts[q] += 1
    return ChangePoints(full, start, offsets_of(counts), np.array(rows, dtype=np.int64), np.array(changed))


def _prefixes_in_final_order(final: Float64, grades: Array) -> list[Array]:
    """Grades of the first 0, 1, 2, ... candidates, each in descending final score."""
    order: list[tuple[float, int]] = []
    prefixes = [grades[:0]]
    for place, score in enumerate(final):
        bisect.insort(order, (-score, place))
        prefixes.append(grades[[each for _, each in order]])
    return prefixes


def _own_value(measure: OwnMeasure, grades: Array, missed: Array) -> float:
    listed = np.where(grades == UNJUDGED, 0, grades)
    value = float(measure.function(listed, np.sort(missed)[::-1]))
    if not -1e-9 <= value <= 1 + 1e-9:
        raise InputError(f"{measure.name} returned {value}; a measure or loss must lie in [0, 1]")
    return min(max(value, 0.0), 1.0)
