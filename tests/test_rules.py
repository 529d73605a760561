"""Rules: every key against its formula, and what makes the survivors nested prefixes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax, softmax

from surecut import Candidates, InputError
from surecut.reducing import CountKept
from surecut.rules import RULES, as_rule
from tests.strategies import RULE_TEXTS, as_candidates, rows_of, tied_queries

SPREADS = (0.01, 1.0, 40.0)


def spread_of(scores):
    return scores.std() if scores.std() > 0 else 1.0


FORMULAS = {
    "softmax": lambda s, rank: log_softmax(s / (0.75 * spread_of(s))) - np.log(rank),
    "softmax(scale=2, rank_prior=0)": lambda s, rank: log_softmax(s / (2 * spread_of(s))),
    "softmax-fitted(temperature=1.7)": lambda s, rank: log_softmax(s / 1.7),
    "score": lambda s, rank: s,
    "gap": lambda s, rank: s - s[0],
    "zscore": lambda s, rank: (s - s.mean()) / spread_of(s),
    "rank": lambda s, rank: -rank.astype(float),
    "mass": lambda s, rank: -(np.cumsum(softmax(s / spread_of(s))) - softmax(s / spread_of(s))),
}


def one_list(scores):
    return Candidates.from_arrays([scores])


def random_lists(seed, spread, decimals=None):
    """Ragged lists, the first three with one, two and many candidates."""
    rng = np.random.default_rng(seed)
    sizes = [1, 2, 60, *rng.integers(1, 30, 10)]
    scores = np.concatenate([rng.standard_normal(size) for size in sizes]) * spread + 20.0
    scores = scores if decimals is None else scores.round(decimals)
    return Candidates.from_arrays(scores, offsets=np.concatenate(([0], np.cumsum(sizes))))


@pytest.mark.parametrize("spread", SPREADS)
@pytest.mark.parametrize("text", RULE_TEXTS)
def test_keys_equal_the_formula(text, spread):
    data = random_lists(1, spread)
    keys = as_rule(text).keys(data)
    for query in range(len(data)):
        scores = data.retriever[rows_of(data, query)].astype(np.float64)
        expected = FORMULAS[text](scores, np.arange(1, scores.size + 1))
        np.testing.assert_allclose(keys[rows_of(data, query)], expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("scores", [[7.25], [3.0, 3.0, 3.0, 3.0, 3.0]])
@pytest.mark.parametrize("text", RULE_TEXTS)
def test_a_list_without_spread_counts_as_spread_one(text, scores):
    keys = as_rule(text).keys(one_list(scores))
    expected = FORMULAS[text](np.array(scores), np.arange(1, len(scores) + 1))
    np.testing.assert_allclose(keys, expected, rtol=0, atol=1e-12)
    if text == "zscore":
        np.testing.assert_array_equal(keys, 0.0)


@settings(max_examples=50, deadline=None)
@given(
    scores=st.lists(st.floats(-(2.0**100), 2.0**100, width=32), min_size=1, max_size=40),
    text=st.sampled_from(RULE_TEXTS),
)
def test_keys_never_rise_along_the_list(scores, text):
    keys = as_rule(text).keys(one_list(sorted(scores, reverse=True)))
    assert np.all(np.isfinite(keys))
    assert np.all(keys[1:] <= keys[:-1])


def test_the_rank_prior_keeps_falling_past_its_table_of_logarithms():
    keys = as_rule("softmax").keys(one_list(np.zeros(5000)))
    assert np.all(np.diff(keys) < 0)
    np.testing.assert_allclose(keys, -np.log(5000) - np.log(np.arange(1, 5001)), rtol=0, atol=1e-9)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    factor=st.floats(0.01, 100),
    shift=st.floats(-50, 50),
    text=st.sampled_from(("softmax", "zscore", "mass")),
)
def test_rules_that_normalise_ignore_a_positive_affine_rescaling(seed, factor, shift, text):
    scores = np.sort(np.random.default_rng(seed).standard_normal(30))[::-1]
    keys = as_rule(text).keys(one_list(scores))
    rescaled = as_rule(text).keys(one_list(factor * scores + shift * factor))
    np.testing.assert_allclose(rescaled, keys, rtol=0, atol=2e-3)  # scores are held as 32-bit floats


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    text=st.sampled_from(RULE_TEXTS),
    min_keep=st.integers(0, 3),
    max_keep=st.sampled_from((3, 6, 2**31 - 1)),
)
def test_survivors_are_nested_as_the_threshold_falls(seed, text, min_keep, max_keep):
    data = as_candidates(tied_queries(seed, count=12))
    rule = as_rule(text)
    falling = [np.inf, *np.unique(rule.keys(data))[::-1], -np.inf]
    kept = [CountKept(rule, threshold, min_keep, max_keep)(data) for threshold in falling]
    assert np.all(np.diff(kept, axis=0) >= 0)
    np.testing.assert_array_equal(kept[0], np.minimum(min_keep, data.lengths))
    np.testing.assert_array_equal(kept[-1], np.minimum(max_keep, data.lengths))


@pytest.mark.parametrize("text", RULE_TEXTS)
def test_a_rule_prints_as_what_reads_it_back(text):
    rule = as_rule(text)
    assert as_rule(str(rule)) == rule
    assert as_rule(rule) is rule
    assert RULES[rule.name].with_parameters(rule.to_json()["parameters"]) == rule


def test_a_temperature_that_is_given_is_not_fitted():
    assert as_rule("softmax-fitted").fits_temperature
    assert not as_rule("softmax-fitted(temperature=2)").fits_temperature


@pytest.mark.parametrize(
    "text",
    [
        "sofmax",
        "softmax(scale=0)",
        "softmax(scale=-1)",
        "softmax(scale=nan)",
        "softmax(scale)",
        "softmax(rank_prior=-1)",
        "softmax(temperature=1)",
        "softmax-fitted(temperature=inf)",
        "score(scale=1)",
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(text):
    with pytest.raises(InputError, match="rule"):
        as_rule(text)


def test_fixed_grids_rise_from_keeping_everything():
    for rule in RULES:
        if rule.grid_range is None:
            with pytest.raises(InputError, match="no scale of its own"):
                rule.grid()
            continue
        grid = rule.grid()
        assert grid[0] == -np.inf
        assert grid.size == 4096
        assert np.all(np.diff(grid[1:]) > 0)
    np.testing.assert_array_equal(RULES["rank"].grid()[1:], np.arange(-4095.0, 0.0))
    softmax_grid = RULES["softmax"].grid()
    np.testing.assert_allclose(np.diff(softmax_grid[1:]), 30 / 4094, rtol=1e-9)


def test_data_free_starts_keep_ever_less():
    for rule in RULES:
        if rule.starts is not None:
            for depth in (1, 10, 1000):
                starts = rule.starts(depth)
                assert len(starts) == 2
                assert starts[0] <= starts[1]
