"""Trials against `calibrate` itself, one draw at a time."""

from dataclasses import replace

import numpy as np
import pytest

import surecut as sc
from surecut.curves import measure_curves
from surecut.fusion import final_scores
from surecut.measures import as_measure
from surecut.preregistered import preregistered_order
from surecut.trials.calibrating import calibrated
from surecut.trials.drawing import draw, redraw, split
from surecut.trials.methods import Method, contenders
from surecut.trials.pool import Pool
from surecut.trials.running import run_trials

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
    "capped too far": Method("capped too far", options={"max_keep": 2, "target": sc.max_drop(0.05)}),
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


def drawn_with_new_ids(data, drawn):
    """The drawn queries as a sample of its own, with ids that the tests look at in the order of drawing."""
    sample = data.take(drawn.units)
    ids = np.array([f"draw-{number}" for number in range(len(sample))], dtype=object)
    return replace(sample, query_ids=ids[preregistered_order(ids)])


@pytest.mark.parametrize("name", METHODS)
def test_a_trial_finds_what_calibrate_finds_on_the_same_queries(data, name):
    (contender,) = contenders([METHODS[name]], COMMON, grouped=False)
    pool = Pool.of(data, "simulated", judged=True)
    for trial in range(3):
        drawn, left = split(pool, 300, seed=1, trial=trial)
        found = calibrated(contender, pool, drawn)
        certificate = sc.calibrate(data.take(drawn.units), **{**COMMON, **METHODS[name].options})
        assert found.decision.threshold == certificate.threshold
        assert found.decision.status == certificate.status
        assert found.decision.relaxed == certificate.relaxed
        assert found.fitted.beta == certificate.fusion["beta"]
        assert set(drawn.units) | set(left) == set(range(600))


def test_a_cap_that_breaks_the_claim_is_found_out(data):
    """Under a cap "keep everything" is a claim that has to be tested: the method above must abstain."""
    assert sc.calibrate(data, **METHODS["capped too far"].options).status == "abstained"


def test_units_of_a_trial_are_groups_where_there_are_groups(grouped):
    (contender,) = contenders(["surecut"], COMMON, grouped=True)
    pool = Pool.of(grouped, "simulated", judged=True)
    assert len(pool) == 300
    drawn, _ = split(pool, 150, seed=1, trial=0)
    found = calibrated(contender, pool, drawn)
    assert found.decision.threshold == sc.calibrate(grouped.take(pool.queries_of(drawn.units)), **COMMON).threshold


def test_draws_with_replacement_repeat_and_have_an_order_and_folds_of_their_own(data):
    pool = Pool.of(data, "simulated", judged=True)
    drawn = redraw(pool, 600, seed=0, trial=0)
    assert len(set(drawn.units)) < 450
    assert not np.array_equal(drawn.units, redraw(pool, 600, seed=0, trial=1).units)
    assert not np.array_equal(drawn.units, np.sort(drawn.units))
    again = redraw(pool, 600, seed=0, trial=0)
    assert np.array_equal(drawn.units, again.units)
    assert np.array_equal(drawn.place, again.place)
    one, other = (drawn.place[drawn.units == unit] for unit in np.flatnonzero(np.bincount(drawn.units) > 1)[:2])
    assert one[0] != one[1], "a unit that is drawn twice may calibrate once and tune once"
    assert other[0] != other[1]
    certifying, tuning = drawn.divided(0.2)
    assert tuning.place.max() < 0.2 <= certifying.place.min()


def test_the_two_draws_of_a_trial_have_nothing_to_do_with_one_another(data):
    pool = Pool.of(data, "simulated", judged=True)
    both = draw(pool, pool, (300, 300), seed=0, trial=0)
    generator = np.random.default_rng([0, 0, 0])
    assert np.array_equal(np.sort(both.split.units), np.sort(generator.permutation(600)[:300]))
    assert not np.array_equal(both.redrawn.units, np.random.default_rng([0, 0, 0]).integers(0, 600, 300))


@pytest.mark.parametrize("name", ["surecut", "mean", "by rank"])
def test_a_sample_drawn_with_replacement_is_looked_at_in_the_order_of_drawing(data, name):
    (contender,) = contenders([METHODS[name]], COMMON, grouped=False)
    pool = Pool.of(data, "simulated", judged=True)
    for trial in range(3):
        drawn = redraw(pool, 400, seed=2, trial=trial)
        certificate = sc.calibrate(drawn_with_new_ids(data, drawn), **{**COMMON, **METHODS[name].options})
        assert calibrated(contender, pool, drawn).decision.threshold == certificate.threshold


def test_what_a_trial_reports_is_what_the_survivors_of_the_test_queries_are(data):
    found = run_trials(data, ["surecut"], trials=2, calibration=250, test=200, seed=3, **COMMON)
    pool = Pool.of(data, "simulated", judged=True)
    for outcome in found.blocks[0].outcomes[0]:
        drawn, left = split(pool, 250, seed=3, trial=outcome.trial)
        certificate = sc.calibrate(data.take(drawn.units), **COMMON)
        check = certificate.check(data.take(left[:200]), any_length=True)
        assert outcome.measure == pytest.approx(check.mean_pruned, abs=1e-12)
        assert outcome.size == pytest.approx(check.mean_kept, abs=1e-12)
        assert outcome.median_kept == pytest.approx(check.kept_quantiles["p50"], abs=0.5)
        assert outcome.holds_on_batch == (check.estimate <= 0.2)


def test_with_groups_sizes_are_of_queries_and_measures_of_groups():
    whole = sc.simulate("dense-electra", 600, 60, seed=4)
    sizes = np.tile([1, 1, 4], 100)  # the first 100 groups have one query, ...
    groups = np.repeat(np.arange(300), sizes)
    data = whole.with_groups({query: f"user-{group}" for query, group in zip(whole.query_ids, groups, strict=True)})
    found = run_trials(data, ["surecut"], trials=2, calibration=150, test=100, seed=3, **COMMON)
    pool = Pool.of(data, "simulated", judged=True)
    assert (found.queries, found.units) == (600, 300)
    for outcome in found.blocks[0].outcomes[0]:
        drawn, left = split(pool, 150, seed=3, trial=outcome.trial)
        certificate = sc.calibrate(data.take(pool.queries_of(drawn.units)), **COMMON)
        check = certificate.check(data.take(pool.queries_of(left[:100])))
        assert outcome.measure == pytest.approx(check.mean_pruned, abs=1e-12)
        assert outcome.size == pytest.approx(check.mean_kept, abs=1e-12)
        assert outcome.median_kept == pytest.approx(check.kept_quantiles["p50"], abs=0.5)


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


@pytest.mark.parametrize("test", ["hedge", "clt"])
def test_a_relaxed_target_is_held_against_what_it_was_relaxed_to(data, test):
    hard = Method("hard", options={"target": sc.at_least(0.8), "if_unreachable": "relax-target", "test": test})
    found = run_trials(data, [hard], trials=3, calibration=250, test=200)
    (row,) = found.blocks[0].methods
    assert row.abstained == 0
    assert row.true_coverage == 1.0, "0.8 is far from true, what it was relaxed to is not"
    assert row.confidence == (0.9 if test == "hedge" else None), "clt promises nothing"


def test_a_relaxed_confidence_promises_none(data):
    hard = {"target": sc.at_least(0.45), "if_unreachable": "relax-confidence"}
    found = run_trials(data, ["surecut"], trials=6, calibration=250, test=200, **hard)
    outcomes = found.blocks[0].outcomes[0]
    assert {each.status for each in outcomes} >= {"relaxed-confidence"}
    assert all((each.confidence is None) == (each.status == "relaxed-confidence") for each in outcomes)


def test_no_query_calibrates_and_tests_in_one_trial_though_two_pools_share_it(data):
    other = replace(data.take(np.arange(100, 600)), reranker=-data.reranker[100 * 60 :])
    found = run_trials(data, ["est"], test_on=other, trials=3, calibration=200, test=300, **COMMON)
    assert found.shared == 500
    pools = Pool.of(data, "one", judged=True), Pool.of(other, "other", judged=True)
    for trial in range(3):
        drawn = draw(*pools, (200, 300), seed=0, trial=trial)
        assert not set(pools[0].ids[drawn.split.units]) & set(pools[1].ids[drawn.tested])
        assert 100 < drawn.tested.size <= 300


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
        ({"methods": [METHODS["fitted weight"]], "calibration": 32}, "'fitted weight': too few queries to set some"),
        ({"methods": [Method("shallow", options={"depth": 20})]}, "'shallow': all methods see the same lists"),
        ({"methods": [Method("odd", options={"procedure": "paper", "rule": "rank"})]}, "rule has no effect on cec"),
        ({"methods": [Method("odd", options={"procedure": "est", "test": "wsr"})]}, "test has no effect on est"),
        ({"tune": None}, "unknown option 'tune'"),
        ({"names": ["one", "two"]}, "2 names for 1 sets of data"),
    ],
)
def test_what_cannot_be_tried_is_refused(data, options, words):
    with pytest.raises(sc.InputError, match=words):
        run_trials(data, **{"trials": 1, **COMMON, **options})


def test_the_target_is_that_of_calibrate_if_none_is_given(data):
    found = run_trials(data, ["est"], trials=1, calibration=250, test=200)
    assert found.blocks[0].methods[0].claim == "mean RR@10 is at most 1% below reranking everything"


def test_the_same_data_twice_are_refused(data):
    with pytest.raises(sc.InputError, match="are the data to calibrate on"):
        run_trials(data, ["est"], test_on=data, trials=1, **COMMON)


def test_a_weight_that_calibrate_would_not_fit_is_not_fitted(data):
    unjudged = replace(data, grades=np.full_like(data.grades, -1), judged=np.zeros_like(data.judged))
    with pytest.raises(sc.InputError, match="'surecut': no judged tuning query has a relevant candidate"):
        run_trials(unjudged, ["surecut"], trials=1, target=sc.agreement(0.5), fusion="fit")


def test_longer_lists_than_were_calibrated_on_are_refused(data):
    with pytest.raises(sc.InputError, match="--depth 30"):
        run_trials(data.cut(30), ["est"], test_on=data, trials=1, **COMMON)
