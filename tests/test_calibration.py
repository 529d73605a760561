"""Calibration from end to end: statuses, folds, limits, and bytes that depend on the data alone."""

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from surecut import (
    Candidates,
    InputError,
    agreement,
    at_least,
    calibrate,
    max_drop,
    risk,
    simulate,
)
from surecut.curves import measure_curves
from surecut.fusion import fit_fusion
from surecut.measures import as_measure
from surecut.rules import RULES
from surecut.temperature import fit_temperature
from tests.strategies import Query, as_candidates, every_container, kept_by_definition, rows_of, shuffled, tied_queries

DATA = simulate("dense-electra", queries=400, depth=30, seed=1, ties=True)
ALWAYS_FIRST = Candidates.from_arrays(
    np.tile([3.0, 2.0, 1.0], (400, 1)), np.tile([3.0, 2.0, 1.0], (400, 1)), np.tile([1, 0, 0], (400, 1))
)


def grouped_by(data, size):
    return data.with_groups({query: f"g{place // size}" for place, query in enumerate(data.query_ids)})


def missed_first(grades, missed):
    """A binary loss: the first document is not relevant."""
    return float(grades.size == 0 or grades[0] < 1)


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ({"target": max_drop(0.1)}, "certified"),
        ({"target": at_least(0.35)}, "certified"),
        ({"target": max_drop(0.04, absolute=True), "tail": "append"}, "certified"),
        ({"target": agreement(0.8, 5)}, "certified"),
        ({"target": risk(missed_first, 0.75)}, "certified"),
        ({"target": at_least(0.6), "if_unreachable": "relax-target"}, "relaxed-target"),
        ({"target": at_least(0.43), "if_unreachable": "relax-confidence"}, "relaxed-confidence"),
        ({"target": max_drop(0.1), "test": "clt"}, "uncertified"),
        ({"target": max_drop(0.1), "procedure": "paper"}, "uncertified"),
        ({"target": max_drop(0.1), "procedure": "est"}, "uncertified"),
        ({"target": max_drop(0.1), "procedure": "ert"}, "uncertified"),
        ({"target": max_drop(0.1), "fusion": "fit", "fit_on_calibration": True}, "uncertified"),
        ({"target": max_drop(0.1), "rule": "softmax-fitted", "fit_on_calibration": True}, "uncertified"),
        ({"target": max_drop(0.001)}, "abstained"),
        ({"target": at_least(0.9)}, "abstained"),
    ],
)
def test_statuses(options, status):
    certificate = calibrate(DATA, **options)
    assert certificate.status == status
    assert certificate.certified == (status == "certified")
    if status in ("relaxed-target", "relaxed-confidence", "abstained"):
        assert certificate.threshold == -np.inf
        assert certificate.mean_kept == 30
    else:
        assert certificate.mean_kept < 30


def test_what_the_certificate_says_of_its_queries_is_so():
    certificate = calibrate(DATA, target=max_drop(0.1), measure="nDCG@10", min_keep=2, max_keep=25)
    keys = RULES["softmax"].keys(DATA)
    kept = [kept_by_definition(keys[rows_of(DATA, q)], certificate.threshold, 2, 25) for q in range(len(DATA))]
    curves = measure_curves(DATA, keys, DATA.reranker, as_measure("nDCG@10"), min_keep=2, max_keep=25)
    measured = curves.at(certificate.threshold)
    said = certificate.calibration
    assert said["mean_kept"] == np.mean(kept)
    assert said["kept_quantiles"]["p95"] == np.quantile(kept, 0.95, method="inverted_cdf")
    assert said["mean_full"] == pytest.approx(curves.full.mean(), abs=1e-12)
    assert said["mean_pruned"] == pytest.approx(measured.mean(), abs=1e-12)
    assert said["mean_loss_only"] == pytest.approx(np.maximum(curves.full - measured, 0).mean(), abs=1e-12)
    assert (said["queries"], said["candidates"], said["longest_list"]) == (400, 12_000, 30)


def test_a_relaxed_target_is_weaker_and_an_abstention_advises_more_queries():
    relaxed = calibrate(DATA, target=at_least(0.6), if_unreachable="relax-target")
    assert 0 < relaxed.relaxed["value"] < min(0.6, relaxed.calibration["mean_full"])
    abstained = calibrate(DATA, target=max_drop(0.01))
    assert abstained.advice["queries"] > 400
    assert 0.01 < abstained.advice["tightest"] < 1
    assert calibrate(DATA, target=at_least(0.9)).advice["queries"] is None


@pytest.mark.parametrize("target", [max_drop(0.1), max_drop(0.1, absolute=True)])
@pytest.mark.parametrize("relaxing", ["relax-target", "relax-confidence"])
def test_a_drop_has_nothing_to_relax(target, relaxing):
    with pytest.raises(InputError, match="nothing to relax"):
        calibrate(DATA, target=target, if_unreachable=relaxing)


def test_fewer_than_thirty_usable_queries_are_refused():
    with pytest.raises(InputError, match="at least 30"):
        calibrate(DATA.take(np.arange(29)), target=max_drop(0.1))
    calibrate(DATA.take(np.arange(30)), target=max_drop(0.1))
    with pytest.raises(InputError, match="no query is judged"):
        calibrate(Candidates.from_arrays(DATA.retriever.reshape(400, 30), DATA.reranker), target=max_drop(0.1))


def test_there_is_a_tuning_fold_only_when_something_is_fitted():
    assert calibrate(DATA, target=max_drop(0.1)).tune is None
    assert calibrate(DATA, target=max_drop(0.1), fusion=0.5).tune is None
    assert calibrate(DATA, target=max_drop(0.1), rule="softmax-fitted(temperature=1)").tune is None
    for options, purpose in (({"fusion": "fit"}, "fusion weight"), ({"rule": "softmax-fitted"}, "temperature")):
        certificate = calibrate(DATA, target=max_drop(0.1), tune_fraction=0.3, **options)
        assert certificate.tune["for"] == [purpose]
        assert certificate.tune["queries"] + certificate.calibration["queries"] == 400
        assert 80 < certificate.tune["queries"] < 160


def test_what_is_fitted_comes_from_the_tuning_data_alone():
    tuning = simulate("bm25-bert", queries=100, depth=30, seed=9)
    certificate = calibrate(DATA, target=max_drop(0.1), rule="softmax-fitted", fusion="fit", tune=tuning)
    in_id_order = tuning.take(np.argsort(tuning.query_ids))
    assert certificate.rule["parameters"]["temperature"] == fit_temperature(in_id_order)
    assert certificate.fusion["beta"] == fit_fusion(tuning, as_measure("RR@10"))
    assert certificate.calibration["queries"] == 400
    assert certificate.tune == {"source": "table", "queries": 100, "for": ["temperature", "fusion weight"]}


def test_tuning_queries_may_not_also_calibrate():
    with pytest.raises(InputError, match="'dense-electra-7'"):
        calibrate(DATA, target=max_drop(0.1), fusion="fit", tune=DATA.select(["dense-electra-7"]))
    grouped = grouped_by(DATA, 4)
    with pytest.raises(InputError, match="group 'g49'"):
        calibrate(grouped.take(np.arange(198, 400)), fusion="fit", tune=grouped.take(np.arange(198)))


@pytest.mark.parametrize(
    ("measure", "target", "test"),
    [
        ("Success@10", at_least(0.5), "binomial"),
        ("RR@1", at_least(0.2), "binomial"),
        ("P@1", at_least(0.2), "binomial"),
        ("RR@10", at_least(0.3), "hedge"),
        ("R@10", at_least(0.5), "hedge"),
        ("Success@10", max_drop(0.1), "hedge"),
        ("RR@10", risk(missed_first, 0.75), "hedge"),
        ("RR@10", risk(missed_first, 0.75, binary=True), "binomial"),
    ],
)
def test_the_automatic_test_goes_by_what_is_declared(measure, target, test):
    assert calibrate(DATA, measure=measure, target=target).test == test


def test_a_sample_that_happens_to_be_binary_does_not_make_the_test_binomial():
    """One relevant document and R@30: every value is 0 or 1, but not by definition."""
    assert calibrate(DATA, measure="R@30", target=at_least(0.5)).test == "hedge"
    with pytest.raises(InputError, match="by definition"):
        calibrate(DATA, measure="R@30", target=at_least(0.5), test="binomial")


def test_groups_of_binary_losses_are_not_tested_as_binary():
    """The mean of a group lies between 0 and 1."""
    assert calibrate(grouped_by(DATA, 4), measure="Success@10", target=at_least(0.4)).test == "hedge"
    with pytest.raises(InputError, match="no groups"):
        calibrate(grouped_by(DATA, 4), measure="Success@10", target=at_least(0.4), test="binomial")


def test_where_some_data_have_groups_all_have_them():
    certifying, tuning = DATA.split((0.5, 0.5))
    for data, tune in ((grouped_by(certifying, 4), tuning), (certifying, grouped_by(tuning, 4))):
        with pytest.raises(InputError, match="have groups and the"):
            calibrate(data, tune=tune, fusion="fit")
    assert calibrate(grouped_by(certifying, 4), tune=tuning.with_groups({}), fusion="fit", target=max_drop(0.5)).tune


def test_groups_are_one_unit_each():
    alone = calibrate(grouped_by(DATA, 1), target=max_drop(0.1))
    assert alone.threshold == calibrate(DATA.with_groups({}), target=max_drop(0.1)).threshold
    four = calibrate(grouped_by(DATA, 4), target=max_drop(0.2))
    assert (four.calibration["queries"], four.calibration["units"]) == (400, 100)


def test_a_query_repeated_within_its_group_counts_once():
    once = DATA.with_groups({query: f"u{query}" for query in DATA.query_ids})
    twice = Candidates.from_arrays(
        *(np.tile(column.reshape(400, 30), (3, 1)) for column in (DATA.retriever, DATA.reranker, DATA.grades)),
        missed=[DATA.missed[DATA.missed_offsets[q] : DATA.missed_offsets[q + 1]] for q in range(400)] * 3,
        query_ids=[f"{query}-{copy}" for copy in range(3) for query in DATA.query_ids],
        group=[f"u{query}" for _ in range(3) for query in DATA.query_ids],
    )
    for target in (max_drop(0.15), at_least(0.35)):
        expected, found = calibrate(once, target=target), calibrate(twice, target=target)
        assert found.threshold == pytest.approx(expected.threshold, abs=1e-9)
        assert found.calibration["units"] == 400


def test_no_list_is_longer_than_max_keep_and_the_cap_is_part_of_the_claim():
    certificate = calibrate(DATA, target=max_drop(0.15), max_keep=14)
    assert certificate.certified
    assert max(certificate.keep(DATA.retriever, offsets=DATA.offsets)) == 14
    assert calibrate(DATA, target=max_drop(0.15)).calibration["kept_quantiles"]["p99"] > 14
    tight = calibrate(DATA, target=max_drop(0.05), max_keep=2)
    assert tight.status == "abstained"
    assert tight.max_keep is None
    assert tight.mean_kept == 30


def test_a_relaxed_statement_does_not_deny_the_cap():
    relaxed = calibrate(DATA, target=at_least(0.6), if_unreachable="relax-target", max_keep=3)
    assert relaxed.mean_kept == 3
    assert "Nothing is pruned" not in relaxed.statement
    assert "cut at 3" in relaxed.statement


@pytest.mark.parametrize("target", [max_drop(0.2), at_least(0.2)])
@pytest.mark.parametrize("rule", ["softmax", "score", "rank"])
def test_a_depth_is_the_same_as_data_cut_there_first(rule, target):
    queries = tied_queries(6, count=150)
    by_depth = calibrate(as_candidates(queries), depth=6, rule=rule, target=target, measure="AP")
    by_hand = as_candidates([query.cut(6) for query in queries])
    assert by_depth.to_json() == calibrate(by_hand, rule=rule, target=target, measure="AP").to_json()
    assert by_depth.depth == 6


@pytest.mark.parametrize("rule", ["softmax", "zscore", "rank", "mass", "softmax-fitted"])
def test_a_fixed_grid_certifies_one_of_its_points(rule):
    certificate = calibrate(DATA, target=max_drop(0.2), rule=rule, grid="fixed")
    assert certificate.certified
    assert certificate.threshold in RULES[rule].grid()
    exact = calibrate(DATA, target=max_drop(0.2), rule=rule, grid="exact")
    assert certificate.mean_kept == pytest.approx(exact.mean_kept, rel=0.1)


def test_a_measure_that_pruning_never_changes_is_certified_at_the_smallest_set():
    assert calibrate(ALWAYS_FIRST, target=max_drop(0.05), grid="fixed").mean_kept == 1
    assert calibrate(ALWAYS_FIRST, target=max_drop(0.05), grid="exact").mean_kept == 1


@pytest.mark.parametrize("rule", ["score", "gap"])
def test_short_lists_on_a_raw_scale_and_a_fixed_grid(rule):
    assert calibrate(DATA.cut(10), rule=rule, target=at_least(0.05), grid="fixed").certified


@pytest.mark.parametrize(
    "options",
    [
        {"confidence": 1.0},
        {"confidence": 0},
        {"min_keep": -1},
        {"max_keep": 0},
        {"min_keep": 5, "max_keep": 4},
        {"depth": 0},
        {"tail": "keep"},
        {"grid": "coarse"},
        {"procedure": "walks"},
        {"if_unreachable": "give-up"},
        {"test": "t-test"},
        {"tune_fraction": 0.0},
        {"target": 0.01},
        {"fusion": 2.0},
    ],
)
def test_choices_out_of_range_are_refused(options):
    with pytest.raises(InputError):
        calibrate(DATA, **options)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 10**6),
    options=st.sampled_from(
        (
            {"target": max_drop(0.3)},
            {"target": at_least(0.2), "rule": "zscore", "tail": "append"},
            {"target": max_drop(0.4), "fusion": "fit", "min_keep": 0},
            {"target": max_drop(0.4), "rule": "softmax-fitted(temperature=1.3)"},
            {"target": agreement(0.5, 3), "rule": "rank"},
            {"target": at_least(0.15), "rule": "score", "measure": "nDCG@5"},
            {"target": max_drop(0.3), "procedure": "est", "rule": "mass"},
        )
    ),
)
def test_the_certificate_depends_on_the_data_alone(seed, options, tmp_path):
    queries = tied_queries(seed, count=100, longest=6)
    expected = calibrate(as_candidates(queries), **options).to_json()
    for name, data in every_container(queries, seed, tmp_path).items():
        assert calibrate(data, **options).to_json() == expected, name


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_the_order_of_queries_leaves_no_trace_in_groups_either(seed):
    queries = tied_queries(seed, count=90)
    group_of = {query.query_id: f"g{place % 31}" for place, query in enumerate(queries)}
    certificates = {
        calibrate(as_candidates(each, group=[group_of[q.query_id] for q in each]), target=max_drop(0.3)).to_json()
        for each in (queries, queries[::-1], shuffled(queries, seed))
    }
    assert len(certificates) == 1


def test_what_is_fitted_is_the_same_to_the_last_bit_in_any_order():
    orders = [np.random.default_rng(seed).permutation(400) for seed in range(5)]
    options = {"target": max_drop(0.1), "rule": "softmax-fitted", "fusion": "fit"}
    assert len({calibrate(DATA.take(order), **options).to_json() for order in orders}) == 1


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_renaming_documents_changes_nothing_where_no_scores_tie(seed):
    rng = np.random.default_rng(seed)
    queries = tied_queries(seed, count=40)
    untied = [
        Query(q.query_id, q.docs, rng.permutation(20)[: len(q.docs)].tolist(), q.reranker, q.grades, q.missed)
        for q in queries
    ]
    renamed = [
        Query(q.query_id, [f"x{i}" for i in rng.permutation(len(q.docs))], q.retriever, q.reranker, q.grades, q.missed)
        for q in untied
    ]
    options = {"target": max_drop(0.3), "measure": "nDCG@10"}
    before = json.loads(calibrate(as_candidates(untied), **options).to_json())
    assert json.loads(calibrate(as_candidates(renamed), **options).to_json()) == before
