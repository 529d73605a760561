"""The numbers of a report are those of the library: certificates, baselines, and what each query keeps and loses."""

import json
from dataclasses import replace

import numpy as np
import pytest

import surecut as sc
from surecut.bounds import TESTS
from surecut.checking import check
from surecut.claims import bound_for_reading
from surecut.rederiving import rederive
from surecut.report.explorer import target_values
from surecut.report.gathering import gather
from tests.report.making import CASES, DATA, HELD_OUT, assessed, certificate, loss_of, report


def test_the_cases_reach_every_status():
    assert {certificate(name).status for name in CASES} == {
        "certified",
        "uncertified",
        "abstained",
        "relaxed-target",
        "relaxed-confidence",
    }


@pytest.mark.parametrize("name", CASES)
def test_every_cell_of_the_explorer_is_what_calibrate_returns(name):
    data, options = CASES[name]
    explorer = report(name).explorer
    places = [(0, 0), explorer.own, (len(explorer.confidences) - 1, len(explorer.targets) - 1), (1, 2)]
    for c, t in places:
        asked = {**options, "target": options["target"].with_value(explorer.targets[t])}
        for column, confidence in (
            (explorer.alone, explorer.confidences[c]),
            (explorer.divided, 1 - (1 - explorer.confidences[c]) / len(explorer.targets)),
        ):
            cert = sc.calibrate(data, confidence=confidence, **asked)
            cell = column[c][t]
            assert (cell.status, cell.threshold) == (cert.status, cert.threshold)
            assert cell.mean_kept == cert.mean_kept
            assert cell.p95 == cert.calibration["kept_quantiles"]["p95"]
            assert cell.speedup == cert.speedup
            assert cell.relaxed == cert.relaxed


@pytest.mark.parametrize("name", CASES)
def test_the_explorer_stands_at_the_certificate(name):
    explorer, cert = report(name).explorer, certificate(name)
    c, t = explorer.own
    assert (explorer.confidences[c], explorer.targets[t]) == (cert.confidence, cert.target["value"])
    assert explorer.alone[c][t].threshold == cert.threshold
    assert len(explorer.alone) == len(explorer.divided) == len(explorer.confidences)
    assert all(len(row) == len(explorer.targets) for row in (*explorer.alone, *explorer.divided))


def test_targets_of_the_grid_do_not_depend_on_the_data():
    assert 0.0123 in target_values(sc.max_drop(0.0123))
    assert set(target_values(sc.max_drop(0.01))) < set(target_values(sc.max_drop(0.0123)))
    assert all(0 < value < 1 for value in target_values(sc.at_least(0.03)))


def test_a_cut_fixed_in_advance_has_nothing_to_explore():
    assert assessed().explorer is None
    assert assessed().tradeoff.chosen.mean_kept == 10


@pytest.mark.parametrize("name", ["drop", "several starts", "agreement", "rank", "groups", "cap"])
def test_est_and_ert_are_those_of_calibrate(name):
    data, options = CASES[name]
    curve = report(name).tradeoff
    for found, procedure in ((curve.est, "est"), (curve.ert, "ert")):
        if found is None:
            assert options.get("rule") == "rank"
            continue
        cert = sc.calibrate(data, **options, procedure=procedure)
        assert found.threshold == cert.threshold
        assert found.mean_kept == pytest.approx(cert.mean_kept, abs=1e-9)
        assert found.measured == pytest.approx(cert.calibration["mean_pruned"], abs=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_the_curve_runs_from_the_least_to_everything_through_the_certificate(name):
    found, cert = report(name), certificate(name)
    sizes = [point.mean_kept for point in found.tradeoff.rule]
    assert sizes == sorted(sizes)
    assert sizes[-1] == pytest.approx(found.tradeoff.full.mean_kept if cert.max_keep is None else sizes[-1])
    if found.tradeoff.chosen is not None:
        assert found.tradeoff.chosen.threshold in [point.threshold for point in found.tradeoff.rule]
        assert found.tradeoff.chosen.mean_kept == pytest.approx(cert.mean_kept, abs=1e-9)
    else:
        assert cert.status == "abstained"


def test_a_bound_is_the_test_inverted_from_the_weakest_claim():
    measured, full = np.full(400, 0.62), np.full(400, 0.65)
    hedge, target = TESTS["hedge"], sc.max_drop(0.1)
    bound = bound_for_reading(target, measured, full, hedge, 0.1)
    assert bound is not None
    assert hedge.decision(target.variable_at(bound, measured, full), target.level_at(bound), 0.1)
    tighter = bound - 0.00025
    assert not hedge.decision(target.variable_at(tighter, measured, full), target.level_at(tighter), 0.1)
    assert bound_for_reading(sc.at_least(0.5), np.zeros(50), np.ones(50), hedge, 0.1) is None


def test_the_bound_of_a_large_gain_goes_below_the_rungs_that_are_close_together():
    """The pruned list is twice as good: a bound at -10% would only be where the fine ladder ends."""
    bound = bound_for_reading(sc.max_drop(0.1), np.full(2000, 0.8), np.full(2000, 0.4), TESTS["hedge"], 0.1)
    assert -1.0 < bound < -0.9


def test_a_bound_stops_at_the_first_value_that_is_not_shown():
    class Gap:
        """A test that shows every value but one."""

        @staticmethod
        def decision(x, level, delta):
            return abs(level - sc.at_least(0.4).level) > 1e-9

    assert bound_for_reading(sc.at_least(0.5), np.ones(9), np.ones(9), Gap, 0.1) == pytest.approx(0.399)


@pytest.mark.parametrize("name", ["drop", "several starts", "rank"])
def test_bounds_of_the_curve_have_the_confidence_that_is_written_on_them(name):
    again = rederive(certificate(name), DATA)
    choices, curves = again.choices, again.prepared.curves
    for point in report(name).tradeoff.rule[::20]:
        x, full = curves.at(point.threshold), curves.full
        assert point.bound == bound_for_reading(choices.target, x, full, choices.test, 1 - certificate(name).confidence)


def test_the_ceiling_counts_what_the_measure_calls_relevant():
    graded = sc.simulate("graded", queries=300, depth=30, seed=1)
    strict, lax = (
        gather(sc.calibrate(graded, measure=measure, target=sc.max_drop(0.3)), graded).data.ceiling
        for measure in ("RR(rel=3)@10", "RR@10")
    )
    assert strict.reachable < lax.reachable


@pytest.mark.parametrize("name", [*CASES])
def test_sizes_and_changes_are_those_of_the_queries(name):
    found, cert = report(name), certificate(name)
    data = CASES[name][0]
    assert sum(bar.queries for bar in found.sizes.bars) == found.data.queries
    assert found.sizes.mean == pytest.approx(cert.mean_kept, abs=1e-9)
    assert found.changes.queries == found.data.queries
    assert sum(bar.queries for bar in found.changes.bars) == found.changes.lost + found.changes.gained
    if data.groups is None:
        apart = cert.calibration["mean_pruned"] - cert.calibration["mean_full"]
        sign = -1 if cert.target["kind"] == "risk" else 1
        assert found.changes.mean_gain - found.changes.mean_loss == pytest.approx(sign * apart, abs=1e-12)
    assert list(found.changes.worst) == sorted(
        found.changes.worst, key=lambda hit: (-abs(hit.full - hit.pruned), hit.query)
    )


def test_a_worst_hit_query_loses_what_the_report_says():
    cert, found = certificate("drop"), report("drop")
    hit = found.changes.worst[0]
    (q,) = np.flatnonzero(DATA.query_ids == hit.query)
    alone = DATA.take(np.array([q] * 30))
    alone = replace(alone, query_ids=np.array([f"copy-{i}" for i in range(30)], dtype=object))
    seen = check(cert, alone, any_length=True)
    assert (hit.full, hit.pruned, hit.kept) == (seen.mean_full, pytest.approx(seen.mean_pruned), seen.mean_kept)
    assert hit.full > hit.pruned


def test_the_data_are_counted():
    found = report("drop").data
    judged = DATA.grades > 0
    assert found.queries == len(DATA)
    assert found.candidates == DATA.retriever.size
    assert (found.shortest, found.longest, found.depth) == (40, 40, 40)
    reachable = np.add.reduceat(judged, DATA.offsets[:-1]) > 0
    assert found.ceiling.reachable == pytest.approx(reachable.mean())
    assert found.ceiling.recall <= found.ceiling.reachable
    assert report("agreement").data.ceiling is None


def test_held_out_queries_are_checked():
    found = gather(certificate("drop"), DATA, held_out=HELD_OUT)
    assert found.check == check(certificate("drop"), HELD_OUT)


def test_other_data_than_the_certificates_are_refused():
    with pytest.raises(sc.InputError, match="are not the"):
        gather(certificate("drop"), HELD_OUT)


@pytest.mark.parametrize("name", CASES)
def test_everything_goes_into_json(name):
    record = json.loads(json.dumps(report(name).to_dict(), allow_nan=False))
    assert record["certificate"]["digest"] == certificate(name).digest
    assert len(record["explorer"]["alone"]) == len(report(name).explorer.confidences)
    assert gather(certificate(name), CASES[name][0], **loss_of(name)).to_dict() == report(name).to_dict()
