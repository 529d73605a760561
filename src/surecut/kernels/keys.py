"""Keys of one query's candidates, and how many of them reach a threshold.

Calibration (`fill_keys`) and serving (`count_kept`) go through the same `key_profile` and `key_of`, so a
candidate has the same key, bit for bit, wherever it is asked for.
"""

import math

import numpy as np

from surecut.arrays import Float32, Float64, Int64
from surecut.kernels.codes import GAP, MASS, RANK, SCORE, SOFTMAX_FITTED, ZSCORE
from surecut.kernels.jit import kernel
from surecut.kernels.lists import longest_list

# math.log is evaluated once for the ranks people use; longer lists call it directly.
LOG_RANK = np.array([0.0, *(math.log(rank) for rank in range(1, 4096))])

_LOG2_E = 1.4426950408889634
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
_SMALLEST_EXPONENT = -708.0


@kernel
def softmax_terms(scores: Float32, shift: float, multiplier: float, terms: Float64, power: Float64) -> float:
    """Fill `terms` with exp((score - shift) * multiplier), which must not be positive, and return their sum.

    A polynomial in plain arithmetic instead of the C library's exp: it vectorises, and it gives the same
    bits on every machine, so a certificate cuts at the same place wherever it is applied.
    """
    bits = power.view(np.int64)
    size = scores.size
    for i in range(size):
        x = max((np.float64(scores[i]) - shift) * multiplier, _SMALLEST_EXPONENT)
        whole = math.floor(x * _LOG2_E + 0.5)
        r = (x - whole * _LN2_HIGH) - whole * _LN2_LOW
        p = 1.0 / 39916800.0
        p = p * r + 1.0 / 3628800.0
        p = p * r + 1.0 / 362880.0
        p = p * r + 1.0 / 40320.0
        p = p * r + 1.0 / 5040.0
        p = p * r + 1.0 / 720.0
        p = p * r + 1.0 / 120.0
        p = p * r + 1.0 / 24.0
        p = p * r + 1.0 / 6.0
        p = p * r + 0.5
        p = p * r + 1.0
        p = p * r + 1.0
        terms[i] = p
        bits[i] = (np.int64(whole) + 1023) << 52
    a = b = c = d = 0.0
    full = size - size % 4
    for i in range(size):
        terms[i] *= power[i]
    for i in range(0, full, 4):
        a += terms[i]
        b += terms[i + 1]
        c += terms[i + 2]
        d += terms[i + 3]
    for i in range(full, size):
        a += terms[i]
    return (a + b) + (c + d)


@kernel
def mean_and_sd(scores: Float32) -> tuple[float, float]:
    """Mean and standard deviation (ddof 0) of descending scores; (the score, 1) when all are equal."""
    size = scores.size
    if scores[0] == scores[size - 1]:
        return np.float64(scores[0]), 1.0
    full = size - size % 4
    a = b = c = d = 0.0
    for i in range(0, full, 4):
        a += scores[i]
        b += scores[i + 1]
        c += scores[i + 2]
        d += scores[i + 3]
    for i in range(full, size):
        a += scores[i]
    mean = ((a + b) + (c + d)) / size
    a = b = c = d = 0.0
    for i in range(0, full, 4):
        a += (scores[i] - mean) ** 2
        b += (scores[i + 1] - mean) ** 2
        c += (scores[i + 2] - mean) ** 2
        d += (scores[i + 3] - mean) ** 2
    for i in range(full, size):
        a += (scores[i] - mean) ** 2
    return mean, math.sqrt(((a + b) + (c + d)) / size)


@kernel
def key_profile(scores: Float32, rule: int, scale: float, terms: Float64, power: Float64) -> tuple[float, float, float]:
    """What a query's own list contributes to its keys: (shift, multiplier, offset)."""
    if rule in (SCORE, RANK):
        return 0.0, 1.0, 0.0
    top = np.float64(scores[0])
    if rule == GAP:
        return top, 1.0, 0.0
    if rule == SOFTMAX_FITTED:
        multiplier = 1.0 / scale
        return top, multiplier, -math.log(softmax_terms(scores, top, multiplier, terms, power))
    mean, sd = mean_and_sd(scores)
    if rule == ZSCORE:
        return mean, 1.0 / sd, 0.0
    multiplier = 1.0 / (scale * sd)
    total = softmax_terms(scores, top, multiplier, terms, power)
    if rule == MASS:
        return top, multiplier, total
    return top, multiplier, -math.log(total)


@kernel
def key_of(score: float, rank: int, rule: int, prior: float, shift: float, multiplier: float, offset: float) -> float:
    """Key of the candidate at 1-based `rank`; non-increasing in rank, operation by operation."""
    if rule == RANK:
        return -float(rank)
    key = (score - shift) * multiplier + offset
    if prior != 0.0:
        key -= prior * (LOG_RANK[rank] if rank < LOG_RANK.size else math.log(rank))
    return key


@kernel
def fill_keys(retriever: Float32, offsets: Int64, rule: int, scale: float, prior: float, keys: Float64) -> None:
    """Keys of every candidate of every query (lists in descending retriever score)."""
    longest = longest_list(offsets)
    terms = np.empty(longest)
    power = np.empty(longest)
    for q in range(offsets.size - 1):
        low, high = offsets[q], offsets[q + 1]
        if low == high:
            continue
        scores = retriever[low:high]
        shift, multiplier, offset = key_profile(scores, rule, scale, terms, power)
        if rule == MASS:
            before = 0.0
            for i in range(high - low):
                keys[low + i] = -(before / offset)
                before += terms[i]
        else:
            for i in range(high - low):
                keys[low + i] = key_of(np.float64(scores[i]), i + 1, rule, prior, shift, multiplier, offset)


@kernel
def keys_at(
    retriever: Float32,
    offsets: Int64,
    rows: Int64,
    row_offsets: Int64,
    rule: int,
    scale: float,
    prior: float,
) -> Float64:
    """Keys of some candidates only: rows `row_offsets[q]` to `row_offsets[q + 1]` of `rows` belong to query `q`."""
    longest = longest_list(offsets)
    terms = np.empty(longest)
    power = np.empty(longest)
    keys = np.empty(rows.size)
    for q in range(offsets.size - 1):
        first, beyond = row_offsets[q], row_offsets[q + 1]
        if first == beyond:
            continue
        low = offsets[q]
        scores = retriever[low : offsets[q + 1]]
        shift, multiplier, offset = key_profile(scores, rule, scale, terms, power)
        if rule == MASS:
            before = 0.0
            for i in range(scores.size):
                power[i] = before
                before += terms[i]
        for place in range(first, beyond):
            i = rows[place] - low
            if rule == MASS:
                keys[place] = -(power[i] / offset)
            else:
                keys[place] = key_of(np.float64(scores[i]), i + 1, rule, prior, shift, multiplier, offset)
    return keys


@kernel
def fill_profiles(retriever: Float32, offsets: Int64, rule: int, scale: float) -> Float64:
    """`key_profile` of every query, a row each."""
    longest = longest_list(offsets)
    terms = np.empty(longest)
    power = np.empty(longest)
    profiles = np.zeros((offsets.size - 1, 3))
    for q in range(offsets.size - 1):
        if offsets[q] < offsets[q + 1]:
            shift, multiplier, offset = key_profile(retriever[offsets[q] : offsets[q + 1]], rule, scale, terms, power)
            profiles[q, 0], profiles[q, 1], profiles[q, 2] = shift, multiplier, offset
    return profiles


@kernel
def keys_by_profile(
    retriever: Float32,
    offsets: Int64,
    rows: Int64,
    row_offsets: Int64,
    rule: int,
    prior: float,
    profiles: Float64,
) -> Float64:
    """`keys_at`, for a rule whose profiles are known (any but `mass`, whose keys need all scores before them)."""
    keys = np.empty(rows.size)
    for q in range(offsets.size - 1):
        for place in range(row_offsets[q], row_offsets[q + 1]):
            row = rows[place]
            rank = row - offsets[q] + 1
            score = np.float64(retriever[row])
            keys[place] = key_of(score, rank, rule, prior, profiles[q, 0], profiles[q, 1], profiles[q, 2])
    return keys


@kernel
def reaching(
    scores: Float32, rule: int, prior: float, threshold: float, shift: float, multiplier: float, offset: float
) -> int:
    """How many of one query's keys reach a threshold: keys fall along the list, so the first that does not is found by
    bisection."""
    reached = 0
    beyond = scores.size
    while reached < beyond:
        middle = (reached + beyond) // 2
        key = key_of(np.float64(scores[middle]), middle + 1, rule, prior, shift, multiplier, offset)
        if key >= threshold:
            reached = middle + 1
        else:
            beyond = middle
    return reached


@kernel
def kept_by_profile(
    retriever: Float32,
    offsets: Int64,
    rule: int,
    prior: float,
    profiles: Float64,
    threshold: float,
    min_keep: int,
    max_keep: int,
) -> Int64:
    """How many of each query's candidates survive, for a rule whose profiles are known (any but `mass`)."""
    kept = np.empty(offsets.size - 1, np.int64)
    for q in range(offsets.size - 1):
        scores = retriever[offsets[q] : offsets[q + 1]]
        reached = reaching(scores, rule, prior, threshold, profiles[q, 0], profiles[q, 1], profiles[q, 2])
        kept[q] = min(max(reached, min_keep), max_keep, scores.size)
    return kept


@kernel
def count_kept(
    scores: Float32, rule: int, scale: float, prior: float, threshold: float, min_keep: int, max_keep: int
) -> int:
    """How many of one query's descending scores survive; -1 when unsorted, -2 when not finite."""
    terms = np.empty(scores.size)
    return count_kept_in(scores, rule, scale, prior, threshold, min_keep, max_keep, terms, np.empty(scores.size))


@kernel
def count_kept_in(
    scores: Float32,
    rule: int,
    scale: float,
    prior: float,
    threshold: float,
    min_keep: int,
    max_keep: int,
    terms: Float64,
    power: Float64,
) -> int:
    """`count_kept`, with room to compute in."""
    size = scores.size
    if size == 0:
        return 0
    rising = 0
    for i in range(1, size):
        rising += not scores[i] <= scores[i - 1]
    if rising > 0:
        for i in range(size):
            if np.isnan(scores[i]):
                return -2
        return -1
    if not (np.isfinite(scores[0]) and np.isfinite(scores[size - 1])):
        return -2
    reached = size
    if threshold == np.inf:
        reached = 0
    elif threshold != -np.inf:
        shift, multiplier, offset = key_profile(scores, rule, scale, terms, power)
        reached = 0
        if rule == MASS:
            before = 0.0
            while reached < size and -(before / offset) >= threshold:
                before += terms[reached]
                reached += 1
        else:
            reached = reaching(scores, rule, prior, threshold, shift, multiplier, offset)
    return min(max(reached, min_keep), max_keep, size)


@kernel
def count_kept_batch(
    scores: Float32,
    offsets: Int64,
    rule: int,
    scale: float,
    prior: float,
    threshold: float,
    min_keep: int,
    max_keep: int,
) -> Int64:
    """`count_kept` of each query; a negative count says what was wrong with that query."""
    longest = longest_list(offsets)
    terms = np.empty(longest)
    power = np.empty(longest)
    kept = np.empty(offsets.size - 1, np.int64)
    for q in range(offsets.size - 1):
        listed = scores[offsets[q] : offsets[q + 1]]
        kept[q] = count_kept_in(listed, rule, scale, prior, threshold, min_keep, max_keep, terms, power)
    return kept


@kernel
def softmax_slope(
    retriever: Float32, offsets: Int64, queries: Int64, targets: Int64, inverse_temperature: float
) -> float:
    """Mean over some queries of E[score] - score of the target, under softmax(inverse_temperature * score).

    The derivative, in the inverse temperature, of the mean of -log softmax at `targets` (rows, one a query).
    """
    longest = longest_list(offsets)
    terms = np.empty(longest)
    power = np.empty(longest)
    slope = 0.0
    for i in range(queries.size):
        scores = retriever[offsets[queries[i]] : offsets[queries[i] + 1]]
        total = softmax_terms(scores, np.float64(scores[0]), inverse_temperature, terms, power)
        expected = 0.0
        for j in range(scores.size):
            expected += terms[j] * scores[j]
        slope += expected / total - retriever[targets[i]]
    return slope / queries.size
