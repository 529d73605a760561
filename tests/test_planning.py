"""How many labelled queries a target needs: the formula, and whether its advice works."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from surecut import InputError, at_least, max_drop, queries_needed
from surecut.bounds import HEDGE
from surecut.planning import advise


def by_formula(mean, variance, level, delta, power):
    spread = (norm.ppf(1 - delta) + norm.ppf(power)) ** 2 * variance / (level - mean) ** 2
    growth = 1.3 * math.log(1 / delta) / math.log(1 + 0.95 * (level - mean) / (1 - level))
    return max(spread, growth)


@settings(max_examples=60, deadline=None)
@given(
    level=st.floats(0.05, 0.95),
    share=st.floats(0.1, 0.99),
    variance=st.floats(0, 0.25),
    delta=st.sampled_from((0.01, 0.05, 0.1, 0.3)),
    power=st.sampled_from((0.5, 0.8, 0.95)),
)
def test_the_number_follows_the_formula(level, share, variance, delta, power):
    mean = share * level
    needed = queries_needed(mean, variance, level, delta, power)
    assert needed - 1 - 1e-6 <= by_formula(mean, variance, level, delta, power) * (1 + 1e-9)
    assert needed + 1e-6 >= by_formula(mean, variance, level, delta, power) * (1 - 1e-9)


def test_no_number_will_do_when_the_mean_misses_the_target():
    assert queries_needed(0.5, 0.1, 0.5, 0.1) is None
    assert queries_needed(0.6, 0.1, 0.5, 0.1) is None


@pytest.mark.parametrize(
    "arguments", [(0.4, -0.1, 0.5, 0.1), (0.4, 0.1, 1.0, 0.1), (0.4, 0.1, 0.5, 0.0), (0.4, 0.1, 0.5, 0.1, 1.0)]
)
def test_values_out_of_range_are_refused(arguments):
    with pytest.raises(InputError):
        queries_needed(*arguments)


def test_a_sample_of_the_planned_size_usually_passes():
    """Losses like 1 - RR@10: asked for 80% power, the hedge passes about that often."""
    rng = np.random.default_rng(0)
    values = np.array([0.0, 0.5, 0.8, 1.0])
    chances = np.array([0.3, 0.1, 0.1, 0.5])
    mean = values @ chances
    variance = values**2 @ chances - mean**2
    needed = queries_needed(mean, variance, mean + 0.06, 0.1, 0.8)
    passed = np.mean([HEDGE.rejects(rng.choice(values, needed, p=chances), mean + 0.06, 0.1) for _ in range(400)])
    assert 0.7 < passed < 0.9


def test_a_path_needs_as_many_queries_as_its_most_demanding_set_and_the_cheapest_path_is_advised():
    rng = np.random.default_rng(1)
    full = rng.random(200)
    steep = [(90.0, full), (10.0, np.clip(full - 0.2, 0, 1))]
    gentle = [(90.0, full), (50.0, np.clip(full - 0.01, 0, 1))]
    target = max_drop(0.1)

    def needed(measured):
        x = target.variable(measured, full)
        return queries_needed(x.mean(), x.var(), target.level, 0.1)

    assert needed(steep[1][1]) is None
    advice = advise(target, full, [steep, gentle], 0.1, 200)
    assert advice.queries == max(needed(measured) for _, measured in gentle)
    assert advice.mean_kept == 50.0
    assert advise(target, full, [steep], 0.1, 200).queries is None


@pytest.mark.parametrize("target", [max_drop(0.02), at_least(0.6)])
def test_the_tightest_target_is_the_first_that_the_sample_would_carry(target):
    full = np.random.default_rng(2).random(150)
    sets = [(20.0, np.clip(full - 0.03, 0, 1))]

    def needed(value):
        claim = target.with_value(value)
        x = claim.variable(sets[0][1], full)
        return queries_needed(x.mean(), x.var(), claim.level, 0.1) or math.inf

    tightest = advise(target, full, [sets], 0.1, 150).tightest
    tighter = tightest + (0.001 if target.rising else -0.001)
    assert needed(tightest) <= 150
    assert tighter <= 0 or needed(tighter) > 150


def test_no_set_that_could_pass_gives_no_number():
    full = np.full(100, 0.2)
    advice = advise(at_least(0.9), full, [[(30.0, full)]], 0.1, 100)
    assert advice.queries is None
    assert 0 < advice.tightest < 0.2
