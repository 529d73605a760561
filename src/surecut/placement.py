"""Thresholds placed on queries that take no part in the certificate: starts, grids and budgets.

A rule on the retriever's raw scale has no thresholds that make sense without data. They may come from any
queries but the calibration ones, and no label is looked at.
"""

import numpy as np

from surecut.arrays import Float64, Int64
from surecut.candidates import Candidates
from surecut.kernels.keys import kept_at
from surecut.measures import NO_CUTOFF
from surecut.rules import GRID_SIZE, KEEP_EVERYTHING, START_SHARES, Rule


def threshold_for_mean(
    keys: Float64, offsets: Int64, size: float, min_keep: int = 1, max_keep: int | None = None
) -> float:
    """The lowest threshold, to the last bit, at which these queries keep at most `size` on average."""
    longest = NO_CUTOFF if max_keep is None else max_keep

    def fits(threshold: float) -> bool:
        return bool(kept_at(keys, offsets, threshold, min_keep, longest).mean() <= size)

    if fits(KEEP_EVERYTHING):
        return KEEP_EVERYTHING
    low, high = float(keys.min()), float(np.nextafter(keys.max(), np.inf))
    while low < (middle := low + (high - low) / 2) < high:
        if fits(middle):
            high = middle
        else:
            low = middle
    return high


def placed_starts(rule: Rule, data: Candidates) -> tuple[float, ...]:
    """Thresholds that keep the usual shares of these queries' candidates."""
    keys, mean = rule.keys(data), data.lengths.mean()
    return tuple(threshold_for_mean(keys, data.offsets, share * mean) for share in START_SHARES)


def placed_grid(rule: Rule, data: Candidates) -> Float64:
    """Quantiles of these queries' keys, after "keep everything"."""
    quantiles = np.quantile(rule.keys(data), np.linspace(0.0, 1.0, GRID_SIZE))
    return np.concatenate(([KEEP_EVERYTHING], np.unique(quantiles)))
