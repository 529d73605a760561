"""Tests of E[X] >= a: kernels against plain Python, p-values against scipy, bounds by inversion."""

import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from surecut import InputError
from surecut.bounds import BINOMIAL, HEDGE, TESTS, WSR
from surecut.bounds.hedge import goal_table
from surecut.bounds.wsr import evidence_factor
from surecut.kernels.testing import goal_hedge

NORMAL = NormalDist()
DELTAS = (0.3, 0.1, 0.05, 0.01)


def hedge_peak(losses, level, delta):
    """Largest wealth of the hedge: nu refreshed every 8 losses, and at every one of the last 32."""
    n, wealth, peak = len(losses), 1.0, 1.0
    s1, s2, variance, nu = 0.5, 0.25, 0.25, 0.0
    for t in range(1, n + 1):
        left = n - t + 1
        if (t - 1) % 8 == 0 or left <= 32:
            u = delta * wealth / 1.1
            aimed = NORMAL.pdf(NORMAL.inv_cdf(u)) / (u * math.sqrt(variance * left))
            nu = min(max(aimed, 0.0), 0.95 / (1 - level))
        wealth *= 1 + nu * (level - losses[t - 1])
        peak = max(peak, wealth)
        if wealth >= 1 / delta or wealth < 1e-15:
            break
        s1 += losses[t - 1]
        s2 += (losses[t - 1] - s1 / (t + 1)) ** 2
        variance = s2 / (t + 1)
    return peak


def wsr_peak(losses, level, delta):
    """Largest wealth of the paper's test, with the variance before each loss."""
    n, wealth, peak = len(losses), 1.0, 1.0
    s1, s2, variance = 0.5, 0.25, 0.25
    for t in range(1, n + 1):
        nu = min(1.0, math.sqrt(2 * math.log(1 / delta) / (n * variance)))
        wealth *= 1 + nu * (level - losses[t - 1])
        peak = max(peak, wealth)
        s1 += losses[t - 1]
        s2 += (losses[t - 1] - s1 / (t + 1)) ** 2
        variance = s2 / (t + 1)
    return peak


@st.composite
def loss_samples(draw):
    """Losses whose mean lies near the level, where decisions differ: 0/1, drop-like or spread out."""
    n = draw(st.sampled_from((1, 7, 8, 9, 31, 33, 40, 100, 257, 400)))
    level = draw(st.sampled_from((0.02, 0.2, 0.5025, 0.62, 0.95)))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    mean = np.clip(level - draw(st.floats(0, 3)) * 0.5 * math.sqrt(level * (1 - level) / n), 0.0, 1.0)
    kind = draw(st.sampled_from(("binary", "drop", "uniform")))
    if kind == "binary":
        losses = (rng.random(n) < mean).astype(float)
    elif kind == "drop":
        losses = np.where(rng.random(n) < 0.9, mean, rng.random(n) * mean * 2).clip(0, 1)
    else:
        losses = (rng.random(n) * 2 * mean).clip(0, 1)
    return losses, level, draw(st.sampled_from(DELTAS))


def levels_around_the_decision(peak, losses, delta):
    """Two levels close together, one that the slow reference does not reject and one that it does."""
    low, high = 1e-3, 1 - 1e-3
    while high - low > 1e-3:
        middle = (low + high) / 2
        if delta * peak(losses, middle, delta) >= 1:
            high = middle
        else:
            low = middle
    return low, high


@pytest.mark.parametrize(("test", "peak"), [(HEDGE, hedge_peak), (WSR, wsr_peak)], ids=["hedge", "wsr"])
@settings(max_examples=60, deadline=None)
@given(sample=loss_samples())
def test_betting_kernels_decide_as_the_plain_formula_does(test, peak, sample):
    losses, level, delta = sample
    for tried in (level, *levels_around_the_decision(peak, losses.tolist(), delta)):
        reached = delta * peak(losses.tolist(), tried, delta)
        if abs(reached - 1) > 1e-4:  # the kernel looks its bets up in a table
            assert test.rejects(losses, tried, delta) == (reached >= 1)


@pytest.mark.parametrize("u", [1e-17, 1e-9, 1e-4, 0.01, 0.1, 0.5, 0.8, 0.909])
def test_the_table_of_the_hedge_equals_the_normal_density_over_its_tail(u):
    assert goal_hedge(u, goal_table()) == pytest.approx(stats.norm.pdf(stats.norm.ppf(u)) / u, rel=1e-3)


def p_value(name, losses, level):
    n, mean = len(losses), float(np.mean(losses))
    r = min(mean, level)
    entropy = sum(p * math.log(p / q) for p, q in ((r, level), (1 - r, 1 - level)) if p > 0)
    hoeffding = math.exp(-n * entropy)
    bentkus = math.e * stats.binom.cdf(math.ceil(round(n * mean, 9)), n, level)
    return {
        "hoeffding": hoeffding,
        "bentkus": bentkus,
        "hoeffding-bentkus": min(hoeffding, bentkus),
        "binomial": stats.binom.cdf(round(n * mean), n, level),
        "clt": stats.norm.sf((level - mean) / max(np.std(losses, ddof=1) / math.sqrt(n), 1e-300)) if n > 1 else 1.0,
    }[name]


@pytest.mark.parametrize("name", ["hoeffding", "bentkus", "hoeffding-bentkus", "binomial", "clt"])
@settings(max_examples=60, deadline=None)
@given(sample=loss_samples())
def test_the_other_tests_reject_when_their_p_value_is_at_most_delta(name, sample):
    losses, level, delta = sample
    if name == "binomial":
        losses = losses.round()
    if name == "clt" and (losses.size == 1 or losses.std() == 0):
        return
    p = p_value(name, losses, level)
    if abs(p - delta) > 1e-9:
        assert TESTS[name].rejects(losses, level, delta) == (p <= delta)


@pytest.mark.parametrize("name", TESTS.names())
def test_an_upper_bound_is_the_last_level_before_the_first_failure(name):
    test = TESTS[name]
    losses = (np.random.default_rng(3).random(150) < 0.3).astype(float)
    bound = test.upper_bound(losses, 0.1, step=0.01)
    rejected = [test.rejects(losses, level / 100, 0.1) for level in range(99, 0, -1)]
    passed = rejected.index(False)
    assert passed > 5
    assert bound == pytest.approx(1 - passed / 100)


def test_an_upper_bound_stops_at_the_first_failure_even_if_a_lower_level_would_pass(monkeypatch):
    def decision(self, x, level, delta):
        return level > 0.8 or level < 0.2

    monkeypatch.setattr(type(HEDGE), "decision", decision)
    assert HEDGE.upper_bound([0.5], 0.1, step=0.1) == pytest.approx(0.9)


def test_the_bound_is_one_when_nothing_is_rejected():
    assert HEDGE.upper_bound([1.0] * 50, 0.1) == 1.0


def test_the_evidence_factor_is_the_mean_terminal_wealth_of_three_bettors():
    losses = np.random.default_rng(5).random(80)
    wealths = []
    for delta in (0.3, 0.1, 0.01):
        wealth, seen = 1.0, []
        for loss in losses:
            means = [(0.5 + sum(seen[: i + 1])) / (i + 2) for i in range(len(seen))]
            squares = 0.25 + sum((x - mean) ** 2 for x, mean in zip(seen, means, strict=True))
            variance = squares / (len(seen) + 1)
            wealth *= 1 + min(1.0, math.sqrt(2 * math.log(1 / delta) / (80 * variance))) * (0.6 - loss)
            seen.append(loss)
        wealths.append(wealth)
    assert evidence_factor(losses, 0.6) == pytest.approx(np.mean(wealths))


@pytest.mark.parametrize("name", TESTS.names())
@pytest.mark.parametrize(
    "losses", [[], [[0.0, 1.0]], [0.0, float("nan")], [0.0, float("inf")], [1.0, 1.1], [-0.01, 0.5]]
)
def test_losses_out_of_range_are_refused(name, losses):
    with pytest.raises(InputError):
        TESTS[name].rejects(losses, 0.5, 0.1)


@pytest.mark.parametrize("name", TESTS.names())
@pytest.mark.parametrize(("level", "delta"), [(0, 0.1), (1, 0.1), (0.5, 0), (0.5, 1), (math.nan, 0.1), (0.5, math.nan)])
def test_levels_out_of_range_are_refused(name, level, delta):
    with pytest.raises(InputError, match="strictly between"):
        TESTS[name].rejects([0.0, 1.0], level, delta)


def test_rounding_of_a_billionth_is_clipped_and_the_binomial_wants_zeros_and_ones():
    assert HEDGE.rejects([-1e-10] * 100, 0.1, 0.1)
    with pytest.raises(InputError, match="0 or 1"):
        BINOMIAL.rejects([0.0, 0.5], 0.5, 0.1)


def test_only_the_normal_approximation_is_not_certified():
    assert [test.name for test in TESTS if not test.certified] == ["clt"]
