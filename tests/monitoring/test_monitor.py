"""Periods, alarms and belief: what is declared before any feedback, and what the evidence comes to."""

import math

import numpy as np
import pytest

import surecut as sc
from surecut.errors import InputError
from surecut.monitoring.feedback import Feedback, as_feedback
from surecut.monitoring.monitor import Monitor
from surecut.monitoring.store import Store
from surecut.monitoring.streams import STREAMS, Levels
from tests.monitoring.conftest import figures


def test_nothing_is_known_before_anything_came(monitor):
    standing = monitor.standing()
    assert (standing.belief, standing.period, standing.claim.count) == ("no evidence yet", 0, 0)
    assert standing.advice
    assert monitor.history("claim") == []


def test_traffic_like_calibration_is_believed_and_agrees_with_a_check(monitor, system):
    calibration, traffic = system
    monitor.start(calibration)
    added = monitor.add_data(traffic)
    assert added.counted == dict.fromkeys(STREAMS, len(traffic))
    standing, check = monitor.standing(), monitor.certificate.check(traffic)
    assert standing.belief == "believed"
    assert standing.claim.estimate == pytest.approx(check.estimate)
    assert standing.complete == len(traffic)
    assert f"beside {len(calibration)} reference queries" in standing.drift.words


def test_evidence_against_the_claim_raises_both_alarms(monitor):
    monitor.add(figures(400, measured=0.0, full=1.0))
    standing = monitor.standing()
    assert standing.belief == "not believed"
    assert standing.alarmed
    assert set(standing.claim.alarms) == {"ever", "recent"}
    assert len(standing.reasons) == 2
    assert any("recalibrate" in advice for advice in standing.advice)


def test_evidence_over_time_is_that_of_the_state(monitor):
    monitor.add(figures(50, 0.4, 0.5))
    points = monitor.history("claim", points=10)
    assert [point.count for point in points] == [1, *range(5, 51, 5)]
    assert math.exp(points[-1].ever) == pytest.approx(monitor.standing().claim.ever)


def test_agreement_alarms_only_below_a_floor_that_was_declared(certificate, tmp_path):
    records = [Feedback(f"s{number}", overlap=0.5) for number in range(300)]
    quiet, strict = Monitor(certificate, tmp_path / "quiet.db"), Monitor(certificate, tmp_path / "strict.db")
    strict.start(floor=sc.agreement(0.9, 5))
    for monitor in (quiet, strict):
        monitor.add(records)
    assert (quiet.standing().belief, quiet.standing().agreement.ever) == ("no evidence yet", None)
    assert strict.standing().belief == "in doubt"
    assert "top 5" in strict.standing().reasons[-1]


def test_other_traffic_puts_it_in_doubt(certificate, system, tmp_path):
    monitor = Monitor(certificate, tmp_path / "monitor.db")
    monitor.start(system[0])
    moved = [
        Feedback(each.id, each.ids, [score * 1.5 + 1 for score in each.retriever]) for each in as_feedback(system[1])
    ]
    monitor.add(moved)
    standing = monitor.standing()
    assert standing.belief == "in doubt"
    assert "not like those of the reference queries" in standing.reasons[-1]


def test_a_restart_begins_afresh_with_the_same_terms(monitor):
    monitor.start(levels=Levels(5.0, 50.0), floor=sc.agreement(0.8, 7), first_look=77)
    monitor.add(figures(300, 0.0, 1.0))
    assert monitor.standing().alarmed
    monitor.restart()
    standing = monitor.standing()
    assert (standing.belief, standing.period, standing.levels) == ("not believed", 2, Levels(5.0, 50.0))
    assert standing.next_look == 77


def test_only_fresh_queries_count_in_a_new_period(monitor):
    monitor.add(figures(5))
    monitor.restart()
    again = monitor.add(figures(8))
    assert (again.counted["claim"], again.known) == (3, 5)


def test_counting_anew_makes_nothing_believed_that_was_not(monitor):
    monitor.add(figures(300, 0.0, 1.0))
    monitor.restart()
    monitor.restart()
    standing = monitor.standing()
    assert standing.alarmed
    assert standing.claim.count == 0
    assert "in an earlier period" in standing.reasons[0]
    monitor.restart(believe_again=True)
    assert monitor.standing().belief == "no evidence yet"


def test_a_restart_knows_the_calibration_queries_and_may_declare_anew(monitor, system):
    monitor.start(system[0], floor=sc.agreement(0.5, 5))
    monitor.add_data(system[1])
    monitor.restart(first_look=99)
    assert f"beside {len(system[0])} reference queries" in monitor.standing().drift.words
    assert (monitor.standing().next_look, monitor.standing().agreement.claimed) == (99, 0.5)
    monitor.restart(system[1], floor=sc.agreement(0.7), any_length=True)
    assert f"beside {len(system[1])} reference queries" in monitor.standing().drift.words
    assert (monitor.standing().next_look, monitor.standing().agreement.claimed) == (99, 0.7)


def test_a_certificate_is_started_once(monitor):
    monitor.start()
    with pytest.raises(InputError, match="watched already"):
        monitor.start()


def test_an_abstained_certificate_has_nothing_to_watch(system, place):
    abstained = sc.calibrate(system[0], target=sc.max_drop(0.0001))
    assert abstained.status == "abstained"
    with pytest.raises(InputError, match="nothing to watch"):
        Monitor(abstained, place)


@pytest.mark.parametrize("levels", [(1.0, 1000.0), (20.0, 0.5), (float("inf"), 1000.0), (float("nan"), 20.0)])
def test_levels_are_above_one(levels):
    with pytest.raises(InputError, match="evidence begins at 1"):
        Levels(*levels)


def test_a_first_look_is_at_enough_queries(monitor):
    with pytest.raises(InputError, match="at least 30"):
        monitor.start(first_look=5)


def test_a_reference_is_cut_as_deep_as_the_certificate_and_must_be_its_retrievers(certificate, system, tmp_path):
    deep = sc.simulate("dense-electra", queries=300, depth=100, seed=5)
    monitor = Monitor(certificate, tmp_path / "monitor.db")
    monitor.start(deep)
    monitor.add_data(deep.cut(40).take(np.arange(150, 300)))
    assert not monitor.standing().drift.alarms
    other = sc.Candidates.from_arrays(1000.0 + system[0].retriever.reshape(-1, 40))
    with pytest.raises(InputError, match="another retriever"):
        monitor.restart(other)


def test_groups_cannot_be_watched_query_by_query(system, place):
    pairs = {query: f"g{number // 2}" for number, query in enumerate(system[0].query_ids)}
    grouped = sc.calibrate(system[0].with_groups(pairs), target=sc.max_drop(0.2))
    with pytest.raises(InputError, match="groups of queries"):
        Monitor(grouped, place)


def test_only_what_is_watched_can_be_restarted(monitor):
    with pytest.raises(InputError, match="not watched yet"):
        monitor.restart()


@pytest.mark.parametrize("levels", [Levels(), Levels(100.0, 5000.0)])
def test_alarms_come_at_the_levels_that_were_declared(certificate, tmp_path, levels):
    monitor = Monitor(certificate, tmp_path / "monitor.db")
    monitor.start(levels=levels)
    monitor.add(figures(300, 0.0, 1.0))
    points = {point.count: point for point in monitor.history("claim", points=1_000)}
    for kind, limit in (("ever", levels.ever), ("recent", levels.recent)):
        first = next(count for count in sorted(points) if getattr(points[count], kind) >= np.log(limit))
        assert monitor.standing().claim.alarms[kind] == first


def test_a_store_of_a_newer_surecut_is_refused(place):
    import sqlalchemy as sa

    store = Store(place)
    with store.writing() as connection:
        connection.execute(sa.text("UPDATE surecut_store SET version = 99"))
    with pytest.raises(InputError, match="newer surecut"):
        Store(place)


def test_an_alarm_of_agreement_says_what_it_promises(certificate, place):
    monitor = Monitor(certificate, place)
    monitor.start(floor=sc.agreement(0.9, 10))
    monitor.add([Feedback(f"q{number}", overlap=0.5) for number in range(200)])
    reasons = " ".join(monitor.standing().reasons)
    assert "against an agreement of at least 0.9 with the unpruned top 10 reached 20; were it true" in reasons
    assert "without a change that takes at least 1,000 of them, on average" in reasons
