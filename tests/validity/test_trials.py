"""The coverage of the truth that trials report is that of the methods: kept by surecut, not by EST."""

import pytest

import surecut as sc
from surecut.trials.running import run_trials
from tests.validity.truth import DELTA, system
from tests.validity.verdict import exceeds

TARGETS = {"drop": sc.max_drop(0.1), "mean": sc.at_least(0.4)}


def false_claims(target: str, trials: int, record) -> list[int]:
    data = system("dense-electra", ties=False)
    found = run_trials(data, ["surecut", "est"], trials=trials, calibration=400, target=TARGETS[target])
    counts = [sum(not outcome.holds for outcome in outcomes) for outcomes in found.blocks[0].outcomes]
    record("validity", f"trials, {target}: surecut {counts[0]}, EST {counts[1]} false of {trials}")
    assert found.blocks[0].methods[0].abstained < 0.5, "a method that only abstains proves nothing"
    return counts


@pytest.mark.parametrize("target", TARGETS)
def test_trials_find_the_promise_kept_in_short(target, record_property):
    surecut, empirical = false_claims(target, 100, record_property)
    assert not exceeds(surecut, 100, DELTA)
    assert exceeds(empirical, 100, DELTA), "EST must be caught"


@pytest.mark.study
@pytest.mark.parametrize("target", TARGETS)
def test_trials_find_the_promise_kept(target, record_property):
    surecut, empirical = false_claims(target, 1000, record_property)
    assert not exceeds(surecut, 1000, DELTA)
    assert exceeds(empirical, 1000, DELTA)
