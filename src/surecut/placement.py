"""Thresholds placed by how many candidates they keep, and no label is looked at: starts, grids and budgets.

A rule on the retriever's raw scale has no thresholds that make sense without data. They may come from any queries but
the calibration ones.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from surecut.arrays import Float64, Int64, UInt64
from surecut.candidates import Candidates
from surecut.errors import InputError
from surecut.joining import joined
from surecut.kernels.selection import BITS, count_digits
from surecut.lists import Lists, as_it_is
from surecut.measures import NO_CUTOFF
from surecut.preregistered import preregistered_order
from surecut.reducing import CountKept
from surecut.rules import GRID_SIZE, KEEP_EVERYTHING, START_SHARES, Rule

ENOUGH = 5_000
"""Queries to estimate something on that no claim rests on."""
_SIGN = np.uint64(1 << 63)
Count = Callable[[int, UInt64], Int64]
"""Keys that may be pruned, by the digit at a shift, for each of several prefixes (see `count_digits`)."""


def thresholds_for_means(
    data: Lists, rule: Rule, sizes: Sequence[float], min_keep: int = 1, max_keep: int | None = None
) -> list[float]:
    """For each size, the lowest threshold, to the last bit, at which these queries keep at most so many on average."""

    def count(shift: int, prefixes: UInt64) -> Int64:
        pieces = data.map(_CountKeys(rule, min_keep, max_keep, shift, prefixes), scores_only=True)
        return reduce(np.add, pieces)  # as they come: there may be thousands

    return _lowest_thresholds(count, data.lengths, sizes, min_keep, max_keep)


@dataclass(frozen=True, eq=False)
class _CountKeys:
    rule: Rule
    min_keep: int
    max_keep: int | None
    shift: int
    prefixes: UInt64

    def __call__(self, data: Candidates) -> Int64:
        counts = np.zeros((self.prefixes.size, 1 << BITS), dtype=np.int64)
        longest = NO_CUTOFF if self.max_keep is None else self.max_keep
        keys = self.rule.keys(data)
        count_digits(keys, data.offsets, self.min_keep, longest, self.shift, self.prefixes, counts)
        return counts


def _lowest_thresholds(
    count: Count, lengths: Int64, sizes: Sequence[float], min_keep: int, max_keep: int | None
) -> list[float]:
    """Every query keeps its first `min_keep`; of the keys beyond, a mean allows so many to reach the threshold.

    So the threshold lies just above the largest key that is one too many. If not even the first ones are allowed, it
    lies above all keys.
    """
    capped = lengths if max_keep is None else np.minimum(lengths, max_keep)
    always = int(np.minimum(capped, min_keep).sum())
    prunable = int(capped.sum()) - always
    allowed = [max(_most(size, lengths.size) - always, 0) for size in sizes]
    wanted = [place for place in allowed if place < prunable]
    found = dict(zip(wanted, _ordered_keys(count, wanted), strict=True)) if wanted else {}
    return [float(np.nextafter(found[place], np.inf)) if place in found else KEEP_EVERYTHING for place in allowed]


def _most(mean: float, count: int) -> int:
    """The largest sum of `count` whole numbers whose mean is not above this one."""
    most = int(mean * count)
    while (most + 1) / count <= mean:
        most += 1
    while most / count > mean:
        most -= 1
    return most


def _ordered_keys(count: Count, places: Sequence[int]) -> list[float]:
    """The largest key (place 0), the second largest, ...: found 16 bits at a time, whatever their number."""
    left = np.array(places, dtype=np.int64)
    prefixes = np.zeros(left.size, dtype=np.uint64)
    for shift in range(64 - BITS, -1, -BITS):
        reached = np.cumsum(count(shift, prefixes)[:, ::-1], axis=1)  # keys at or above each digit, from the top
        for p, row in enumerate(reached):
            digit = int(np.searchsorted(row, left[p], side="right"))
            left[p] -= row[digit - 1] if digit else 0
            prefixes[p] = (prefixes[p] << np.uint64(BITS)) | np.uint64((1 << BITS) - 1 - digit)
    bits = np.where(prefixes & _SIGN, prefixes ^ _SIGN, ~prefixes)
    keys: list[float] = bits.view(np.float64).tolist()
    return keys


def sampled(data: Lists) -> Candidates:
    """The retriever's scores of so many queries that an estimate is good enough, chosen by the hashes of their ids."""
    some = data if len(data) <= ENOUGH else data.take(np.sort(preregistered_order(data.query_ids)[:ENOUGH]))
    return joined(list(some.map(as_it_is, scores_only=True)))


def mean_kept(data: Lists, rule: Rule, threshold: float, min_keep: int, max_keep: int | None) -> float:
    """How many candidates these queries keep on average."""
    kept = data.map(CountKept(rule, threshold, min_keep, max_keep), scores_only=True)
    return float(np.concatenate(list(kept)).mean())


def placed_starts(rule: Rule, data: Lists) -> tuple[float, ...]:
    """Thresholds that keep the usual shares of these queries' candidates."""
    return tuple(thresholds_for_means(data, rule, [share * data.lengths.mean() for share in START_SHARES]))


def placed_grid(rule: Rule, data: Lists) -> Float64:
    """Quantiles of these queries' keys, after "keep everything"."""
    keys = rule.keys(sampled(data))
    if not keys.size:
        raise InputError(
            "no tuning query has a candidate to place a grid of thresholds by: give others, or more of them"
        )
    quantiles = np.quantile(keys, np.linspace(0.0, 1.0, GRID_SIZE))
    return np.concatenate(([KEEP_EVERYTHING], np.unique(quantiles)))
