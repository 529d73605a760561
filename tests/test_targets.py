"""Targets: the variable X and its level say the same as the claim, for any measured values."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surecut import InputError, agreement, at_least, max_drop, risk
from surecut.curves import Curves
from surecut.measures import as_measure
from surecut.targets import CLAIMS, target_from_json

unit_values = st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=30)


def loss(grades, missed):
    return 0.5


def slack(kind, value, measured, full):
    """By how much the claim holds: positive if it does."""
    return {
        "at_least": measured.mean() - value,
        "max_drop": measured.mean() - (1 - value) * full.mean(),
        "max_drop_abs": value - (full.mean() - measured.mean()),
        "risk": value - measured.mean(),
        "agreement": measured.mean() - value,
    }[kind]


def every_target(value):
    return (at_least(value), max_drop(value), max_drop(value, absolute=True), risk(loss, value), agreement(value, 5))


@settings(max_examples=60, deadline=None)
@given(pairs=unit_values, value=st.floats(0.001, 0.999))
def test_the_mean_of_x_is_within_its_level_exactly_when_the_claim_holds(pairs, value):
    measured, full = np.array(pairs).T
    for target in every_target(value):
        x = target.variable(measured, full)
        assert np.all((x >= 0) & (x <= 1))
        assert 0 < target.level < 1
        holds_by = slack(target.kind, value, measured, full)
        if abs(holds_by) > 1e-9:
            assert (target.level - x.mean() > 0) == (holds_by > 0)


@settings(max_examples=30, deadline=None)
@given(pairs=unit_values, value=st.floats(0.001, 0.999))
def test_the_estimate_is_the_quantity_the_claim_is_about(pairs, value):
    measured, full = np.array(pairs).T
    for target in every_target(value):
        estimate = target.estimate(measured, full)
        expected = {
            "max_drop": 1 - measured.mean() / full.mean() if full.mean() > 0 else 0.0,
            "max_drop_abs": full.mean() - measured.mean(),
        }.get(target.kind, measured.mean())
        assert estimate == pytest.approx(expected, abs=1e-12)


def test_levels_are_those_of_the_theory():
    assert at_least(0.38).level == pytest.approx(0.62)
    assert max_drop(0.01).level == pytest.approx(1 / 1.99)
    assert max_drop(0.004, absolute=True).level == pytest.approx(0.502)
    assert risk(loss, 0.1).level == pytest.approx(0.1)
    assert agreement(0.95).level == pytest.approx(0.05)


def test_x_of_a_drop_uses_each_querys_own_unpruned_value():
    full, measured = np.array([1.0, 0.5, 0.0]), np.array([0.0, 0.5, 1.0])
    np.testing.assert_allclose(max_drop(0.1).variable(measured, full), [1.0, 0.95 / 1.9, 0.0])
    np.testing.assert_allclose(max_drop(0.1, absolute=True).variable(measured, full), [1.0, 0.5, 0.0])


def test_losses_keep_the_shape_of_the_curves():
    curves = Curves(
        np.array([1.0, 0.5]),
        np.array([1.0, 0.5]),
        np.array([0, 2, 3]),
        np.array([1.0, 2.0, 1.5]),
        np.array([0.5, 0.0, 0.25]),
    )
    target = max_drop(0.2)
    losses = target.losses(curves)
    for threshold in (-np.inf, 1.0, 1.2, 1.6, 3.0):
        expected = target.variable(curves.at(threshold), curves.full)
        np.testing.assert_array_equal(losses.at(threshold), expected)


@pytest.mark.parametrize("value", [0.0, 1.0, -0.1, 1.5, float("nan")])
@pytest.mark.parametrize("make", [at_least, max_drop, agreement, lambda value: risk(loss, value)])
def test_a_value_outside_the_open_unit_interval_is_refused(make, value):
    with pytest.raises(InputError, match="between 0 and 1"):
        make(value)


def test_a_measure_outside_the_unit_interval_is_refused():
    with pytest.raises(InputError, match=r"outside \[0, 1\]"):
        at_least(0.5).variable(np.array([1.2]), np.array([1.0]))


def test_a_loss_must_be_a_function_and_a_top_k_positive():
    with pytest.raises(InputError, match="function"):
        risk(0.1, 0.5)
    with pytest.raises(InputError, match="at least 1"):
        agreement(0.9, k=0)


def test_only_claims_true_of_the_full_list_by_definition_say_so():
    assert [target.kind for target in every_target(0.5) if target.met_unpruned] == [
        "max_drop",
        "max_drop_abs",
        "agreement",
    ]


def test_binary_is_a_matter_of_declaration():
    success, reciprocal = as_measure("Success@10"), as_measure("RR@10")
    assert at_least(0.5).binary(success)
    assert not at_least(0.5).binary(reciprocal)
    assert not max_drop(0.1).binary(success)
    assert not max_drop(0.1, absolute=True).binary(success)
    assert risk(loss, 0.1, binary=True).binary(reciprocal)
    assert not risk(loss, 0.1).binary(success)


def test_a_relaxed_level_reads_back_as_a_value():
    assert at_least(0.5).value_at(0.6) == 0.4
    assert agreement(0.5).value_at(0.25) == 0.75
    assert risk(loss, 0.5).value_at(0.6) == 0.6


def test_json_brings_every_target_back():
    for target in every_target(0.25):
        assert target_from_json(target.to_json(), loss) == target
    with pytest.raises(InputError, match="loss="):
        target_from_json({"kind": "risk", "value": 0.1})
    with pytest.raises(InputError, match="did you mean 'at_least'"):
        target_from_json({"kind": "at_leats", "value": 0.1})
    with pytest.raises(InputError, match="top k"):
        target_from_json({"kind": "agreement", "value": 0.1})
    assert {claim.kind for claim in CLAIMS.values()} == {"at_least", "max_drop", "max_drop_abs", "agreement"}


def test_words_name_the_value():
    assert at_least(0.38).words("RR@10") == "mean RR@10 is at least 0.38"
    assert "1%" in max_drop(0.01).words("RR@10")
    assert "0.004" in max_drop(0.004, absolute=True).words("RR@10")
    assert "95%" in agreement(0.95, 7).words("")
    assert "top 7" in agreement(0.95, 7).words("")
