"""What happens query by query: how many candidates each keeps, and which gain or lose by the pruning."""

from dataclasses import dataclass

import numpy as np

from surecut.arrays import Float64, Int64
from surecut.calibration import Calibration, quantiles
from surecut.certificate import Certificate

WORST = 15
_ROUNDING = 1e-12
_BARS = 20
_BAR = 0.1  # width of a bar of gains and losses


@dataclass(frozen=True)
class Bar:
    """Queries whose value lies between two ends: sizes both included, changes the upper one where it gains."""

    low: float
    high: float
    queries: int


@dataclass(frozen=True)
class Sizes:
    """How many candidates the calibration queries keep."""

    bars: tuple[Bar, ...]
    mean: float
    smallest: int
    largest: int
    quantiles: dict[str, int]


@dataclass(frozen=True)
class Hit:
    """A query that the pruning makes worse."""

    query: str
    full: float
    pruned: float
    kept: int
    candidates: int


@dataclass(frozen=True)
class Changes:
    """Who gains and who loses; means are over all queries."""

    lost: int
    gained: int
    unchanged: int
    mean_loss: float
    mean_gain: float
    bars: tuple[Bar, ...]  # of the gain, negative where the query lost
    worst: tuple[Hit, ...]

    @property
    def queries(self) -> int:
        return self.lost + self.gained + self.unchanged


def kept_sizes(certificate: Certificate, rederived: Calibration) -> Int64:
    """How many candidates each calibration query keeps under the certificate."""
    data = rederived.prepared.data
    if certificate.status == "abstained":
        return data.lengths
    return rederived.prepared.kept(certificate.threshold, rederived.choices)


def count_sizes(kept: Int64) -> Sizes:
    """Kept sizes in bars of one width; the last one may hold a long tail, beyond the 99th percentile."""
    low, high = int(kept.min()), int(kept.max())
    border = quantiles(kept)["p99"] if high - low >= _BARS else high
    width = max(-(-(border - low + 1) // _BARS), 1)
    starts = np.arange(low, border + 1, width)
    tail = [starts[-1] + width] if starts[-1] + width <= high else []
    edges = np.array([*starts, *tail, high + 1], dtype=np.int64)
    counts = np.histogram(kept, bins=edges)[0]
    bars = tuple(Bar(float(edges[i]), float(edges[i + 1] - 1), int(count)) for i, count in enumerate(counts))
    return Sizes(bars, float(kept.mean()), low, high, quantiles(kept))


def count_changes(certificate: Certificate, rederived: Calibration, kept: Int64) -> Changes:
    """Gains and losses of the measure, query by query."""
    data = rederived.prepared.data
    full, pruned = _by_query(certificate, rederived)
    gain = pruned - full if rederived.choices.target.kind != "risk" else full - pruned
    lost, gained = gain < -_ROUNDING, gain > _ROUNDING
    order = sorted(np.flatnonzero(lost).tolist(), key=lambda q: (round(float(gain[q]), 12), str(data.query_ids[q])))
    lengths = data.lengths
    return Changes(
        lost=int(lost.sum()),
        gained=int(gained.sum()),
        unchanged=int((~lost & ~gained).sum()),
        mean_loss=float(np.where(lost, -gain, 0.0).mean()),
        mean_gain=float(np.where(gained, gain, 0.0).mean()),
        bars=_bars(gain[lost | gained]),
        worst=tuple(
            Hit(str(data.query_ids[q]), float(full[q]), float(pruned[q]), int(kept[q]), int(lengths[q]))
            for q in order[:WORST]
        ),
    )


def _by_query(certificate: Certificate, rederived: Calibration) -> tuple[Float64, Float64]:
    """The measure of each query, unpruned and under the certificate, in the order of the data."""
    curves = rederived.prepared.reduced.curves
    abstained = certificate.status == "abstained"
    return curves.full, curves.full if abstained else curves.at(certificate.threshold)


def _bars(gain: Float64) -> tuple[Bar, ...]:
    """Even bars from -1 to 1; those outside everything that happened are left out."""
    if gain.size == 0:
        return ()
    side = round(1 / _BAR)
    away = np.ceil(np.abs(gain) / _BAR - 1e-9).clip(1, side).astype(np.int64)  # 0 is an edge, never inside a bar
    place = np.where(gain < 0, -away, away - 1)
    counts = {int(each): int(count) for each, count in zip(*np.unique(place, return_counts=True), strict=True)}
    return tuple(
        Bar(round(each * _BAR, 10), round((each + 1) * _BAR, 10), counts.get(each, 0))
        for each in range(min(counts), max(counts) + 1)
    )
