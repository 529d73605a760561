"""Is a new certificate a setback?"""

from dataclasses import replace

import pytest

import surecut as sc
from surecut.comparing import changes, setbacks

DATA = sc.simulate(queries=800, depth=40, seed=1)
OLD = sc.calibrate(DATA, target=sc.max_drop(0.1))


def test_the_same_certificate_is_no_change_and_no_setback():
    assert changes(OLD, OLD) == {}
    assert setbacks(OLD, OLD, 0.0) == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"target": sc.max_drop(0.2)}, "it claims less: max_drop 0.2 instead of 0.1"),
        ({"target": sc.max_drop(0.1), "confidence": 0.8}, "it is less sure: confidence 0.8 instead of 0.9"),
        ({"target": sc.max_drop(0.1), "depth": 30}, "it is about shorter lists: depth 30 instead of 40"),
        ({"target": sc.max_drop(0.0001)}, "the old one is certified, the new one is abstained"),
        (
            {"target": sc.at_least(0.3)},
            "the old one 'max drop, RR@10, with pruned documents dropped', the new one 'at least, RR@10, with",
        ),
        ({"target": sc.max_drop(0.1), "measure": "nDCG@10"}, "they claim different things"),
        ({"target": sc.max_drop(0.1), "tail": "append"}, "they claim different things"),
        ({"target": sc.max_drop(0.02)}, "on average instead of"),
    ],
)
def test_a_setback_is_named(options, words):
    assert any(words in reason for reason in setbacks(OLD, sc.calibrate(DATA, **options), 0.1))


def test_a_stronger_claim_that_keeps_no_more_is_no_setback():
    cheaper = replace(OLD, confidence=0.95, calibration={**OLD.calibration, "mean_kept": OLD.mean_kept * 1.05})
    assert setbacks(OLD, cheaper, 0.1) == []
    assert len(setbacks(OLD, cheaper, 0.01)) == 1


def test_a_model_that_is_worse_is_a_setback_only_if_asked_about():
    half = replace(OLD, calibration={**OLD.calibration, "mean_pruned": OLD.calibration["mean_pruned"] / 2})
    assert setbacks(OLD, half, 0.1) == []
    assert any("it is worse on its queries" in reason for reason in setbacks(OLD, half, 0.1, 0.01))
    assert setbacks(half, OLD, None, 0.0) == []


def test_what_was_relaxed_counts_as_what_it_was_relaxed_to():
    hard = {"target": sc.at_least(0.6), "if_unreachable": "relax-target"}
    old = sc.calibrate(DATA, **hard)
    assert old.status == "relaxed-target"
    weaker = replace(old, relaxed={"value": old.relaxed["value"] - 0.1})
    assert any("it claims less" in reason for reason in setbacks(old, weaker, 0.1))
    assert setbacks(weaker, old, 0.1) == []
    nothing = sc.calibrate(DATA, target=sc.at_least(0.6))
    assert any("the new one is abstained" in reason for reason in setbacks(old, nothing, 0.1))
    assert setbacks(nothing, old, 0.1) == []


def test_a_floor_claims_more_the_higher_it_is():
    low, high = (sc.calibrate(DATA, target=sc.at_least(value)) for value in (0.2, 0.25))
    assert any("it claims less" in reason for reason in setbacks(high, low, 10.0))
    assert setbacks(low, high, 10.0) == []
