"""The limits of an engine against the certificate's own comparison, to the last bit."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from surecut.export.cut import Cut, above, below, below_in_double, cut_of, least_float32

thresholds = (
    st.floats(-1e30, 1e30, allow_nan=False) | st.floats(-1, 1) | st.floats(width=32, min_value=-100, max_value=100)
)
nearby = st.integers(-3, 3)


def survives(score, threshold):
    """As the certificate compares: in 32 bits."""
    return float(np.float32(score)) >= threshold


def steps(value, count, kind):
    for _ in range(abs(count)):
        value = np.nextafter(kind(value), kind(math.copysign(math.inf, count)))
    return float(value)


@given(thresholds, nearby)
def test_at_least_in_32_bits(threshold, count):
    least = least_float32(threshold)
    score = steps(least, count, np.float32)
    assert (score >= least) == survives(score, threshold)


@given(thresholds, nearby)
def test_strictly_above_in_32_bits(threshold, count):
    least = least_float32(threshold)
    score = steps(least, count, np.float32)
    assert (score > below(least)) == survives(score, threshold)
    assert (-score < above(-least)) == survives(score, threshold)


@given(thresholds, nearby)
def test_strictly_above_in_64_bits(threshold, count):
    limit = below_in_double(least_float32(threshold))
    score = steps(limit, count, np.float64)
    assert (score > limit) == survives(score, threshold)


def test_the_cut_of_each_rule(certificates):
    depth = 100
    kept = int(-certificates.rank.threshold)
    assert cut_of(certificates.rank) == Cut(depth, kept)
    assert certificates.rank_append.threshold == math.inf
    assert cut_of(certificates.rank_append) == Cut(depth, 1)  # min_keep
    score = cut_of(certificates.score)
    assert (score.window, score.min_keep, score.from_best) == (depth, 0, False)
    assert survives(score.least, certificates.score.threshold)
    assert cut_of(certificates.score_capped).window == 30
    assert cut_of(certificates.gap) == Cut(depth, depth, certificates.gap.threshold, True, 3)
    assert cut_of(certificates.everything) == Cut(depth, depth)
    assert not cut_of(certificates.everything).prunes
    assert cut_of(certificates.softmax) is None
