"""Trials against `calibrate` itself, one draw at a time."""

from dataclasses import replace

import numpy as np
import pytest

import surecut as sc
from surecut.curves import measure_curves
from surecut.fusion import final_scores
from surecut.measures import as_measure
from surecut.trials.drawing import redraw, split
from surecut.trials.methods import Method, contenders
from surecut.trials.pool import Pool
from surecut.trials.running import calibrated, run_trials

METHODS = {
    "surecut": Method("surecut"),
    "published": Method("published", options={"procedure": "paper"}),
    "est": Method("est", options={"procedure": "est"}),
    "ert": Method("ert", options={"procedure": "ert"}),
    "mean": Method("mean", options={"target": sc.at_least(0.3)}),
    "out of reach": Method("out of reach", options={"target": sc.at_least(0.8), "if_unreachable": "relax-target"}),
    "published, out of reach": Method(
        "published, out of reach", options={"target": sc.at_least(0.45), "procedure": "paper"}
    ),
    "fitted temperature": Method("fitted temperature", options={"rule": "softmax-fitted"}),
    "fitted weight": Method("fitted weight", options={"fusion": "fit"}),
    "placed starts": Method("placed starts", options={"rule": "score", "target": sc.at_least(0.3)}),
    "placed grid": Method("placed grid", options={"rule": "gap", "grid": "fixed"}),
    "by rank": Method("by rank", options={"rule": "rank", "test": "wsr"}),
    "agreement": Method("agreement", options={"target": sc.agreement(0.5, k=5)}),
    "capped": Method("capped", options={"max_keep": 20, "target": sc.max_drop(0.6)}),
    "appended": Method("appended", options={"tail": "append", "measure": "nDCG@10"}),
    "binary": Method("binary", options={"measure": "Success@5", "target": sc.at_least(0.4)}),
}
COMMON = {"target": sc.max_drop(0.2)}


@pytest.fixture(scope="module")
def data():
    """600 queries with scores in whole tenths, so that there are ties."""
    return replace(sc.simulate("dense-electra", 600, 60, seed=4, ties=True), depth=60)


@pytest.fixture(scope="module")
def grouped(data):
    return data.with_groups({query: f"user-{number // 2}" for number, query in enumerate(data.query_ids)})


def drawn_with_new_ids(data, draw):
    """The drawn queries as a sample of its own, with ids that sort into the order of drawing."""
    sample = data.take(draw.units)
    ids = np.array([f"draw-{number}" for number in range(len(sample))], dtype=object)
    return replace(sample, query_ids=ids)


@pytest.mark.parametrize("name", METHODS)
def test_a_trial_finds_what_calibrate_finds_on_the_same_queries(data, name):
    (contender,) = contenders([METHODS[name]], COMMON, grouped=False)
    pool = Pool.of(data, "simulated", judged=True)
    for trial in range(3):
        draw, left = split(pool, 300, seed=1, trial=trial)
        fitted, decision = calibrated(contender, pool, draw)
        certificate = sc.calibrate(data.take(draw.units), **{**COMMON, **METHODS[name].options})
        assert decision.threshold == certificate.threshold
        assert decision.status == certificate.status
        assert decision.relaxed == certificate.relaxed
        assert fitted.beta == certificate.fusion["beta"]
        assert set(draw.units) | set(left) == set(range(600))


def test_units_of_a_trial_are_groups_where_there_are_groups(grouped):
    (contender,) = contenders(["surecut"], COMMON, grouped=True)
    pool = Pool.of(grouped, "simulated", judged=True)
    assert len(pool) == 300
    draw, _ = split(pool, 150, seed=1, trial=0)
    _, decision = calibrated(contender, pool, draw)
    assert decision.threshold == sc.calibrate(grouped.take(pool.queries_of(draw.units)), **COMMON).threshold


def test_draws_with_replacement_repeat_and_have_an_order_of_their_own(data):
    pool = Pool.of(data, "simulated", judged=True)
    draw = redraw(pool, 600, seed=0, trial=0)
    assert len(set(draw.units)) < 450
    assert not np.array_equal(draw.units, redraw(pool, 600, seed=0, trial=1).units)
    again = redraw(pool, 600, seed=0, trial=0)
    assert np.array_equal(draw.units, again.units)
    assert np.array_equal(draw.place, again.place)


def test_what_a_trial_reports_is_what_the_survivors_of_the_test_queries_are(data):
    found = run_trials(data, ["surecut"], trials=2, calibration=250, test=200, seed=3, **COMMON)
    pool = Pool.of(data, "simulated", judged=True)
    for outcome in found.blocks[0].outcomes[0]:
        draw, left = split(pool, 250, seed=3, trial=outcome.trial)
        certificate = sc.calibrate(data.take(draw.units), **COMMON)
        check = certificate.check(data.take(left[:200]), any_length=True)
        assert outcome.measure == pytest.approx(check.mean_pruned, abs=1e-12)
        assert outcome.size == pytest.approx(check.mean_kept, abs=1e-12)
        assert outcome.median_kept == pytest.approx(check.kept_quantiles["p50"], abs=0.5)
        assert outcome.holds_on_batch == (check.estimate <= 0.2)


def test_coverage_of_the_truth_is_about_the_whole_pool(data):
    found = run_trials(data, ["est"], trials=5, calibration=250, test=200, **COMMON)
    pool = Pool.of(data, "simulated", judged=True)
    for outcome in found.blocks[0].outcomes[0]:
        sample = drawn_with_new_ids(data, redraw(pool, 250, seed=0, trial=outcome.trial))
        certificate = sc.calibrate(sample, procedure="est", **COMMON)
        assert outcome.true_threshold == certificate.threshold
        keys = certificate.pruner.rule.keys(data)
        curves = measure_curves(data, keys, final_scores(data), as_measure("RR@10"))
        truth = float(curves.at(certificate.threshold).mean())
        assert outcome.true_measure == pytest.approx(truth, abs=1e-12)
        assert outcome.holds == (truth >= 0.8 * curves.full.mean())


def test_the_number_of_threads_changes_nothing(data):
    names = ["surecut", "cec", METHODS["fitted weight"]]
    one, many = (
        run_trials(data, names, trials=6, calibration=250, test=200, jobs=jobs, **COMMON).to_dict() for jobs in (1, 4)
    )
    assert one == many
    assert one != run_trials(data, names, trials=6, calibration=250, test=200, seed=1, **COMMON).to_dict()


def test_an_abstention_prunes_nothing_and_breaks_no_promise(data):
    strict = {"target": sc.max_drop(0.001), "max_keep": 10}
    found = run_trials(data, ["surecut"], trials=3, calibration=250, test=200, **strict)
    (row,) = found.blocks[0].methods
    assert (row.abstained, row.batch_coverage, row.true_coverage) == (1.0, 1.0, 1.0)
    assert row.mean_size == 60
    assert row.speedup == 1


def test_the_published_procedure_reports_its_corrected_confidence(data):
    hard = {"target": sc.at_least(0.47)}
    found = run_trials(data, ["surecut", "cec", "est"], trials=3, calibration=250, test=200, **hard)
    surecut, published, empirical = found.blocks[0].methods
    assert surecut.confidence == 0.9
    assert published.confidence is not None
    assert published.confidence < 0.9
    assert empirical.confidence is None


def test_on_other_data_the_claims_of_both_sources_are_held_against_the_target(data):
    other = sc.simulate("bm25-bert", 500, 60, seed=1)
    found = run_trials(data, ["surecut"], test_on=other, names=("here", "there"), trials=4, **COMMON)
    across, within = found.blocks
    assert (across.calibrated_on, across.tested_on, within.calibrated_on) == ("here", "there", "there")
    assert across.methods[0].measure != within.methods[0].measure
    alone = run_trials(other, ["surecut"], trials=4, calibration=found.calibration, test=found.test, **COMMON)
    assert within.methods[0] == alone.blocks[0].methods[0]
    assert any("everything reranked" in difference for difference in found.differences)


def test_sizes_are_the_papers_or_in_its_proportion(data):
    found = run_trials(data, ["est"], trials=1, **COMMON)
    assert (found.calibration, found.test) == (250, 350)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"calibration": 400, "test": 300}, "there are only 600"),
        ({"calibration": 20}, "too few"),
        ({"test": 0}, "too few"),
        ({"trials": 0}, "at least one repetition"),
        ({"jobs": 0}, "at least 1"),
        ({"methods": []}, "at least one method"),
        ({"methods": ["surecut", "surecut"]}, "named twice"),
        ({"methods": ["surcut"]}, "did you mean 'surecut'"),
        ({"methods": [METHODS["fitted weight"]], "calibration": 32}, "too few queries to set some aside"),
    ],
)
def test_what_cannot_be_tried_is_refused(data, options, words):
    with pytest.raises(sc.InputError, match=words):
        run_trials(data, **{"trials": 1, **COMMON, **options})


def test_longer_lists_than_were_calibrated_on_are_refused(data):
    with pytest.raises(sc.InputError, match="--depth 30"):
        run_trials(data.cut(30), ["est"], test_on=data, trials=1, **COMMON)
