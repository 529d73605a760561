"""The published method in plain numpy: a loss table of thresholds x queries, then a bound for each threshold.

It runs on a slice, a few batches of thresholds for the table and a few columns of it for the search, and its
time is scaled to all of them. Fitting the temperature is left out, in its favour.
"""

import time
from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from scipy.optimize import brentq

from benchmarks.result import Result
from benchmarks.systems import Arrays, simulated_arrays
from benchmarks.timing import fastest, one_core
from surecut import at_least, calibrate
from surecut.temperature import fit_temperature

QUERIES, DEPTH = 5_000, 1_000
THRESHOLDS = np.linspace(0.0, 1.0, 10_000, endpoint=False)
AT_A_TIME = 20
CUTOFF = 10
VALUE, DELTA = 0.38, 0.1  # "RR@10 is at least .38 with 90% confidence"
BATCHES_TIMED, COLUMNS_TIMED = 3, 30
MIN_TIMES_FASTER = 2_000


def run() -> Iterator[Result]:
    system = simulated_arrays(QUERIES, DEPTH)
    with one_core():
        (seconds,) = fastest(lambda: calibrate(system.candidates(), target=at_least(VALUE), confidence=1 - DELTA))
        published = _scaled_seconds(system)
    yield Result(
        f"calibrate on arrays, {QUERIES:,} x {DEPTH:,}, RR@{CUTOFF} at least {VALUE}",
        seconds,
        f"the published method ({BATCHES_TIMED * AT_A_TIME} of {THRESHOLDS.size:,} thresholds, scaled)",
        published,
        "faster",
        MIN_TIMES_FASTER,
    )


def _scaled_seconds(system: Arrays) -> float:
    probabilities = softmax(system.retriever / fit_temperature(system.candidates()))
    relevant = system.relevance > 0
    loss_batch(probabilities[:50], system.reranker[:50], relevant[:50], THRESHOLDS[:AT_A_TIME])  # warm
    middles = (np.arange(BATCHES_TIMED) + 0.5) / BATCHES_TIMED * THRESHOLDS.size
    marks = [time.perf_counter()]
    columns = []
    for first in middles.astype(int):
        columns.append(loss_batch(probabilities, system.reranker, relevant, THRESHOLDS[first : first + AT_A_TIME]))
        marks.append(time.perf_counter())
    table = np.concatenate(columns, axis=1)[:, :: BATCHES_TIMED * AT_A_TIME // COLUMNS_TIMED]
    begun = time.perf_counter()
    search(table, THRESHOLDS[: table.shape[1]], 1 - VALUE, DELTA)
    batch = float(np.mean([end - start for start, end in pairwise(marks)]))
    column = (time.perf_counter() - begun) / table.shape[1]
    return batch * THRESHOLDS.size / AT_A_TIME + column * THRESHOLDS.size


def softmax(logits: np.ndarray) -> np.ndarray:
    """Each query's calibrated scores."""
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def loss_batch(
    probabilities: np.ndarray, reranker: np.ndarray, relevant: np.ndarray, thresholds: np.ndarray
) -> np.ndarray:
    """1 - RR@10 of every query at each of a batch of thresholds, by reranking every survivor set."""
    kept = probabilities[:, :, None] >= thresholds  # queries x candidates x thresholds
    masked = np.where(kept, reranker[:, :, None], -np.inf)
    order = np.argsort(-masked, axis=1)
    hits = np.take_along_axis(relevant[:, :, None] & kept, order, axis=1)
    first = hits.argmax(axis=1)
    found = hits.any(axis=1) & (first < CUTOFF)
    return 1.0 - found / (first + 1.0)


def search(table: np.ndarray, thresholds: np.ndarray, level: float, delta: float) -> float:
    """lambda-hat: the last threshold before the bound on the risk first exceeds the level."""
    bounds = np.array([wsr_bound(losses, delta) for losses in table.T])
    exceeds = np.flatnonzero(bounds > level)
    passed = exceeds[0] if exceeds.size else thresholds.size
    return float(thresholds[passed - 1]) if passed else 0.0


def wsr_bound(losses: np.ndarray, delta: float) -> float:
    """Upper confidence bound on the mean: the level at which max_t prod_{j<=t}(1 + nu_j (level - x_j)) = 1/delta."""
    count = np.arange(1, losses.size + 1)
    mean = (0.5 + np.cumsum(losses)) / (count + 1)
    variance = (0.25 + np.cumsum((losses - mean) ** 2)) / (count + 1)
    before = np.concatenate(([0.25], variance[:-1]))
    bets = np.minimum(1.0, np.sqrt(2 * np.log(1 / delta) / (losses.size * before)))

    def excess(level: float) -> float:
        return float(np.cumsum(np.log1p(bets * (level - losses))).max() + np.log(delta))

    return 1.0 if excess(1.0) <= 0 else float(brentq(excess, 1e-9, 1.0))
