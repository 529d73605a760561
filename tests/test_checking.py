"""A certificate against other data."""

from dataclasses import replace

import numpy as np
import pytest

from surecut import Candidates, InputError, agreement, at_least, calibrate, max_drop, risk, simulate
from surecut.curves import measure_curves
from surecut.errors import EvaluatorsDisagree
from surecut.measures import as_measure
from surecut.rules import as_rule
from tests.strategies import as_candidates, tied_queries

DATA = simulate("dense-electra", queries=400, depth=30, seed=1, ties=True)
OTHER = simulate("dense-electra", queries=300, depth=30, seed=2, ties=True)
DROP = calibrate(DATA, target=max_drop(0.1))


def first_is_wrong(grades, missed):
    return float(grades.size == 0 or grades[0] < 1)


def measured_on(certificate, data):
    rule = as_rule(certificate.rule["name"])
    return measure_curves(data, rule.keys(data), data.reranker, as_measure(certificate.measure), certificate.tail)


@pytest.mark.parametrize("tail", ["drop", "append"])
@pytest.mark.parametrize("target", [max_drop(0.1), max_drop(0.04, absolute=True), at_least(0.3)])
@pytest.mark.parametrize("measure", ["RR@10", "nDCG@10", "AP", "R(rel=1)@20"])
def test_the_estimate_is_the_plain_mean_and_both_evaluators_agree(measure, target, tail):
    certificate = calibrate(DATA, measure=measure, target=target, tail=tail)
    checked = certificate.check(OTHER)
    curves = measured_on(certificate, OTHER)
    measured, full = curves.at(certificate.threshold).mean(), curves.full.mean()
    expected = {"max_drop": 1 - measured / full, "max_drop_abs": full - measured, "at_least": measured}[target.kind]
    assert checked.estimate == pytest.approx(expected, abs=1e-12)
    assert checked.mean_pruned == pytest.approx(measured, abs=1e-12)
    assert checked.mean_full == pytest.approx(full, abs=1e-12)
    low, high = checked.interval
    assert low < checked.estimate < high
    assert checked.judge_difference < 1e-9
    assert checked.claimed == target.value
    assert not checked.contradicted


def test_the_calibration_queries_are_recognised():
    assert DROP.check(DATA).same_data
    assert not DROP.check(OTHER).same_data
    assert DROP.check(DATA).mean_kept == DROP.mean_kept
    assert DROP.check(DATA).kept_quantiles == DROP.calibration["kept_quantiles"]


def test_a_false_claim_is_contradicted():
    for target, false in ((max_drop(0.2), 0.01), (at_least(0.3), 0.6), (agreement(0.6, 5), 0.99)):
        certificate = calibrate(DATA, target=target)
        assert certificate.certified
        assert not certificate.check(OTHER).contradicted
        overstated = replace(certificate, target={**certificate.target, "value": false})
        assert overstated.check(OTHER).contradicted
        assert not replace(overstated, status="abstained").check(OTHER).contradicted


def test_a_relaxed_target_is_checked_for_what_it_was_relaxed_to():
    certificate = calibrate(DATA, target=at_least(0.6), if_unreachable="relax-target")
    checked = certificate.check(OTHER)
    assert checked.claimed == certificate.relaxed["value"] < 0.6
    assert not checked.contradicted


def test_agreement_needs_no_judgements():
    unjudged = Candidates.from_arrays(OTHER.retriever.reshape(300, 30), OTHER.reranker)
    certificate = calibrate(DATA, target=agreement(0.7, 5))
    checked = certificate.check(unjudged)
    assert 0.5 < checked.estimate < 1
    assert checked.mean_full == 1.0
    assert checked.judge_difference < 1e-9


def test_functions_of_the_users_are_needed_again():
    certificate = calibrate(DATA, target=risk(first_is_wrong, 0.8))
    with pytest.raises(InputError, match="loss="):
        certificate.check(OTHER)
    assert certificate.check(OTHER, loss=first_is_wrong).judge_difference is None
    own = calibrate(DATA, measure=lambda grades, missed: 1 - first_is_wrong(grades, missed), target=max_drop(0.3))
    with pytest.raises(InputError, match="measure="):
        own.check(OTHER)


def test_a_disagreement_between_the_evaluators_is_an_error(monkeypatch):
    monkeypatch.setattr("surecut.checking.judged_values", lambda data, *rest: np.full(len(data), 0.123))
    with pytest.raises(EvaluatorsDisagree, match="RR@10"):
        DROP.check(OTHER)


def test_another_system_is_refused_where_both_are_known():
    known = replace(DROP, system={"retriever": "bm25-a"})
    same, other = (replace(OTHER, system={"retriever": name}) for name in ("bm25-a", "bm25-b"))
    assert known.check(OTHER).queries == known.check(same).queries == 300
    with pytest.raises(InputError, match="retriever of this data"):
        known.check(other)
    assert known.check(other, any_system=True).queries == 300


def test_lists_of_another_depth_are_refused_unless_told_otherwise():
    with pytest.raises(InputError, match="at most 30"):
        DROP.check(simulate(queries=40, depth=31))
    with pytest.raises(InputError, match="looks at the whole list"):
        DROP.check(OTHER.cut(20))
    assert DROP.check(OTHER.cut(20), any_length=True).mean_candidates == 20


def test_too_few_queries_say_nothing():
    with pytest.raises(InputError, match="at least 30"):
        DROP.check(OTHER.take(np.arange(20)))


def test_groups_are_units_of_the_check_too():
    grouped = OTHER.with_groups({query: f"g{place // 3}" for place, query in enumerate(OTHER.query_ids)})
    certificate = calibrate(DATA, measure="Success@10", target=at_least(0.4))
    low, high = certificate.check(grouped).interval
    narrow_low, narrow_high = certificate.check(OTHER).interval
    assert certificate.check(grouped).estimate == pytest.approx(certificate.check(OTHER).estimate)
    assert high - low > narrow_high - narrow_low


def test_ties_ragged_lists_and_a_cap_are_no_obstacle():
    data = as_candidates(tied_queries(2, count=120))
    certificate = calibrate(data, target=max_drop(0.4), min_keep=0, max_keep=6, measure="nDCG@10")
    checked = certificate.check(as_candidates(tied_queries(3, count=120)), any_length=True)
    assert checked.mean_kept <= 6
    assert checked.judge_difference < 1e-9


def test_an_empty_list_agrees_with_itself_for_both_evaluators():
    rng = np.random.default_rng(4)
    offsets = np.concatenate(([0], np.arange(101) * 20))  # the first query has nothing
    data = Candidates.from_arrays(rng.normal(size=2000), rng.normal(size=2000), offsets=offsets)
    certificate = calibrate(data, target=agreement(0.5, 5))
    assert certificate.check(data, any_length=True).judge_difference == 0.0


def test_of_very_many_lists_some_are_evaluated_twice_and_the_same_ones_always(monkeypatch):
    data = simulate("dense-electra", queries=600, depth=20, seed=9)
    certificate = calibrate(simulate("dense-electra", queries=600, depth=20, seed=8), target=max_drop(0.2))
    everything = certificate.check(data)
    monkeypatch.setattr("surecut.checking.JUDGED", 100)
    some = certificate.check(data)
    assert everything.judged_lists == 600
    assert 60 < some.judged_lists < 150
    assert certificate.check(data.take(np.arange(600)[::-1])).judged_lists == some.judged_lists
    assert replace(some, judged_lists=600) == everything
