"""Ranks, martingales and profiles."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surecut.monitoring.drift import PROFILE, Drift, Jumper, Ranks, profile


@given(st.lists(st.integers(0, 6).map(float)), st.integers(0, 6).map(float), st.floats(0, 0.999))
def test_a_p_value_counts_who_is_above_and_shares_ties_by_chance(seen, value, chance):
    above, equal = sum(each > value for each in seen), sum(each == value for each in seen)
    expected = (above + chance * (equal + 1)) / (len(seen) + 1)
    ranks = Ranks()
    for each in seen:
        ranks.add(each)
    assert ranks.p_value(value, chance) == pytest.approx(expected)
    assert Ranks.of(seen).p_value(value, chance) == pytest.approx(expected)


def test_the_jumper_is_the_published_recursion():
    """C_e <- (1 - J) C_e + J/3 C, then C_e *= 1 + e (p - 1/2); the capital is the sum."""
    rng, jumper, capital = np.random.default_rng(0), Jumper(), np.full(3, 1 / 3)
    for p in rng.random(200) ** 1.5:
        jumper.bet(float(p))
        capital = 0.99 * capital + 0.01 / 3 * capital.sum()
        capital *= 1 + np.array([-1, 0, 1]) * (p - 0.5)
    assert jumper.log_capital == pytest.approx(math.log(capital.sum()))


def test_a_jumper_grows_without_end():
    jumper = Jumper()
    for _ in range(5_000):
        jumper.bet(0.999)
    assert 1_000 < jumper.log_capital < math.inf


def test_a_fair_bet_has_mean_one():
    """Over a uniform p, whatever the shares: the expectation of the growth is 1."""
    growth = []
    for p in (np.arange(10_000) + 0.5) / 10_000:
        jumper = Jumper(np.array([0.7, 0.1, 0.2]))
        jumper.bet(float(p))
        growth.append(math.exp(jumper.log_capital))
    assert np.mean(growth) == pytest.approx(1.0)


@pytest.mark.parametrize("scores", [[3.0], [2.0, 2.0], [9.0, 3.0, 1.0]])
def test_a_profile_is_best_spread_and_peak(scores):
    found = profile(np.array(scores, dtype=np.float32))
    sd = np.std(scores) or 1.0
    assert found["best"] == scores[0]
    assert found["spread"] == pytest.approx(sd, rel=5e-3)
    assert found["peak"] == pytest.approx((scores[0] - np.mean(scores)) / sd, rel=5e-3)
    assert tuple(found) == PROFILE


def test_a_state_that_is_written_down_goes_on_as_if_it_had_not_been():
    rng, whole = np.random.default_rng(1), Drift()
    seen = [{name: float(f"{rng.normal():.2g}") for name in PROFILE} for _ in range(60)]
    for number, each in enumerate(seen):
        whole.observe(each, "salt", str(number))
    again = Drift()
    for number, each in enumerate(seen):
        again = Drift.from_json(again.to_json())
        again.observe(each, "salt", str(number))
    assert again.log_evidence == pytest.approx(whole.log_evidence)
    assert again.seen == 60
