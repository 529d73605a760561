"""Feedback is counted once, completed bit by bit, and adds up to the same whoever writes it in whatever pieces."""

import math

import msgspec
import numpy as np
import pytest

import surecut as sc
from surecut.errors import InputError
from surecut.monitoring.feedback import Feedback, as_feedback
from surecut.monitoring.monitor import Monitor
from surecut.monitoring.recalibrating import recalibrate
from surecut.monitoring.store import Store
from surecut.monitoring.streams import STREAMS, Levels


@pytest.fixture
def monitor(certificate, place):
    return Monitor(certificate, place)


def figures(count: int, measured: float = 0.5, full: float = 0.5, begin: int = 0) -> list[Feedback]:
    return [Feedback(f"f{number}", measured=measured, full=full) for number in range(begin, begin + count)]


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


def test_overlap_is_that_of_an_agreement_claim(monitor, system):
    monitor.add_data(system[1])
    certificate = monitor.certificate
    same_cut = sc.calibrate(system[0], target=sc.agreement(0.5, 10))
    other = type(same_cut)(**{**vars_of(same_cut), "threshold": certificate.threshold})
    assert monitor.standing().agreement.estimate == pytest.approx(other.check(system[1]).estimate)


def vars_of(certificate):
    from dataclasses import fields

    return {each.name: getattr(certificate, each.name) for each in fields(certificate)}


def test_the_same_id_counts_once_within_a_batch_and_between(monitor):
    assert monitor.add(figures(10) + figures(5)).counted["claim"] == 10
    again = monitor.add(figures(12))
    assert (again.counted["claim"], again.known) == (2, 10)
    assert monitor.standing().claim.count == 12


def test_what_was_told_first_stays(monitor):
    monitor.add([Feedback("a", measured=0.0, full=1.0)])
    monitor.add([Feedback("a", measured=1.0, full=1.0)])
    assert monitor.standing().claim.estimate == 1.0  # a drop of everything


def test_labels_may_come_later_than_lists(certificate, place, system):
    """First the candidates, then the shadow scores, then the judgements: each stream counts when it can."""
    whole = next(iter(as_feedback(system[1])))
    monitor = Monitor(certificate, place)
    bits = (
        Feedback(whole.id, whole.ids, whole.retriever),
        Feedback(whole.id, reranker=whole.reranker),
        Feedback(whole.id, judgements=whole.judgements),
    )
    counted = [monitor.add([bit]).counted for bit in bits]
    assert counted == [
        {"claim": 0, "agreement": 0, "drift": 1},
        {"claim": 0, "agreement": 1, "drift": 0},
        {"claim": 1, "agreement": 0, "drift": 0},
    ]
    assert monitor.standing().complete == 1


def test_pieces_and_processes_do_not_matter(certificate, place, system, tmp_path):
    """The same feedback in the same order, in one piece or in many, by one monitor or by two, is the same evidence."""
    records = list(as_feedback(system[1]))[:60]
    whole, first, second = (
        Monitor(certificate, tmp_path / "whole.db"),
        Monitor(certificate, place),
        Monitor(certificate, place),
    )
    for monitor in (whole, first):
        monitor.start(system[0])
    whole.add(records)
    for number, record in enumerate(records):
        (first, second)[number % 2].add([record, record])
    one, other = whole.standing(), second.standing()
    assert (one.claim, one.agreement) == (other.claim, other.agreement)
    assert one.drift.count == other.drift.count  # ties are broken by a salt of the store


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


def test_two_certificates_share_a_store_and_nothing_else(certificate, system, place):
    other = sc.calibrate(system[0], target=sc.max_drop(0.1))
    one, two = Monitor(certificate, place), Monitor(other, place)
    one.add(figures(4))
    assert (one.standing().claim.count, two.standing().claim.count) == (4, 0)


def test_an_abstained_certificate_has_nothing_to_watch(system, place):
    abstained = sc.calibrate(system[0], target=sc.max_drop(0.0001))
    assert abstained.status == "abstained"
    with pytest.raises(InputError, match="nothing to watch"):
        Monitor(abstained, place)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"ids": ["a"] * 40}, "twice"),
        ({"retriever": [1e9 - i for i in range(40)]}, "another retriever"),
        (
            {"ids": [str(i) for i in range(41)], "retriever": [41.0 - i for i in range(41)], "reranker": None},
            "at most 40",
        ),
    ],
)
def test_lists_that_cannot_be_the_certificates_are_refused_and_nothing_around_them_counts(
    monitor, system, change, complaint
):
    good, bad = list(as_feedback(system[1]))[:2]
    with pytest.raises(InputError, match=complaint):
        monitor.add([good, msgspec.structs.replace(bad, **change)])
    assert monitor.standing().claim.count == 0


def test_who_was_refused_is_named(monitor, system):
    good, bad = list(as_feedback(system[1]))[:2]
    short = Feedback("the-short-one", bad.ids[:3], bad.retriever[:3])
    with pytest.raises(InputError, match="query 'the-short-one': a list of 3 candidates"):
        monitor.add([good, short])


def test_halves_that_do_not_fit_together_are_refused_and_leave_no_trace(monitor):
    with pytest.raises(InputError, match="'a': reranker scores of candidates that are not known"):
        monitor.add([Feedback("a", reranker=[1.0, 2.0])])
    monitor.add([Feedback("c", judgements={"x": 1})])
    with pytest.raises(InputError, match="'c', with what was told of it before"):
        monitor.add([Feedback("c", ["x"], [1.0]), Feedback("c", reranker=[1.0, 2.0])])
    assert monitor.add([Feedback("c", measured=0.5, full=0.5)]).counted["claim"] == 1


def test_what_was_served_under_another_certificate_is_not_counted(monitor):
    records = [Feedback("a", measured=1.0, full=1.0, certificate="f" * 32), *figures(2)]
    own = Feedback("own", measured=1.0, full=1.0, certificate=monitor.certificate.digest)
    added = monitor.add([*records, own])
    assert (added.counted["claim"], added.others, added.known) == (3, 1, 0)


def test_what_says_something_new_is_not_called_known(monitor):
    assert monitor.add([Feedback("late", judgements={"x": 1})]).known == 0
    assert monitor.add([Feedback("late", judgements={"x": 1})]).known == 1


@pytest.mark.parametrize("figure", ["measured", "full", "overlap"])
@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), float("inf")])
def test_figures_are_shares(figure, value):
    with pytest.raises(InputError, match=f"{figure}: Expected 'float' (<= 1|>= 0)"):
        Feedback("a", **{figure: value})


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


def test_what_was_counted_before_a_fault_is_said(monitor, system):
    bad = msgspec.structs.replace(next(iter(as_feedback(system[1]))), ids=["a"] * 40)
    with pytest.raises(InputError, match="the 500 records before were counted"):
        monitor.add([*figures(510), bad])
    assert monitor.standing().claim.count == 500


def test_only_what_is_watched_can_be_restarted(monitor):
    with pytest.raises(InputError, match="not watched yet"):
        monitor.restart()


def test_a_batch_may_be_counted_whole(monitor, system):
    records = [*figures(700), msgspec.structs.replace(next(iter(as_feedback(system[1]))), ids=["a"] * 40)]
    with pytest.raises(InputError, match="twice"):
        monitor.add_at_once(records)
    assert monitor.standing().claim.count == 0


EMPTY = Feedback("empty", [], [], [], {"d1": 1})


@pytest.mark.parametrize("counts", [False, True])
def test_a_query_for_which_nothing_was_found_counts_where_such_ones_were_calibrated_on(system, place, counts):
    """Others are left out by calibration, and so they are here: they would speak against a claim that is not theirs."""
    lists, second = ({f"q{q}": {"a": a, "b": 2, "c": 4 - a} for q in range(60)} for a in (3, 1))
    grades = {f"q{q}": {"a": 1} for q in range(70)}
    data = sc.Candidates.from_dicts(lists, second, grades, absent="zero" if counts else "skip")
    certificate = sc.calibrate(data, target=sc.at_least(0.1))
    assert certificate.calibration.get("empty_lists") == (10 if counts else None)
    monitor = Monitor(certificate, place)
    monitor.start(first_look=60)
    monitor.add([EMPTY])
    standing = monitor.standing()
    assert (standing.claim.count, standing.complete) == ((1, 1) if counts else (0, 0))
    monitor.add_data(data.take(np.arange(59)))
    if counts:
        assert recalibrate(monitor)[0].calibration["empty_lists"] == 1


def test_a_measure_of_ones_own_comes_as_figures(system, place):
    def first_is_right(grades, missed):
        return float(grades.size and grades[0] > 0)

    own = sc.calibrate(system[0], measure=first_is_right, target=sc.max_drop(0.1))
    monitor = Monitor(own, place)
    assert monitor.add_data(system[1]).counted["claim"] == 0
    assert monitor.add(figures(3)).counted["claim"] == 3


def test_a_loss_of_ones_own_comes_as_figures(system, place):
    certificate = sc.calibrate(system[0], target=sc.risk(lambda grades, missed: float(not (grades[:3] > 0).any()), 0.9))
    monitor = Monitor(certificate, place)
    monitor.add([Feedback("a", measured=1.0), Feedback("b", measured=0.0)])
    assert monitor.standing().claim.estimate == 0.5


def test_a_mean_is_watched_without_shadow_reranking(system, place):
    certificate = sc.calibrate(system[0], target=sc.at_least(0.2))
    monitor = Monitor(certificate, place)
    monitor.add([Feedback(f"m{number}", measured=0.05) for number in range(300)])
    assert monitor.standing().alarmed


def test_a_drop_needs_both_figures(monitor):
    assert monitor.add([Feedback("half", measured=0.5)]).counted["claim"] == 0
    assert monitor.add([Feedback("half", full=0.5)]).counted["claim"] == 1


def test_an_agreement_claim_needs_no_judgements(system, place):
    certificate = sc.calibrate(system[0], target=sc.agreement(0.5, 10))
    monitor = Monitor(certificate, place)
    unjudged = [msgspec.structs.replace(each, judgements=None) for each in as_feedback(system[1])]
    monitor.add(unjudged)
    standing = monitor.standing()
    assert standing.claim.count == standing.complete == len(unjudged)
    assert standing.claim.estimate == pytest.approx(certificate.check(system[1]).estimate)


def test_the_state_is_what_counting_again_from_the_start_gives(certificate, place, system):
    """What was counted in many transactions is what one fold over all observations gives."""
    import json

    import sqlalchemy as sa

    from surecut.monitoring.store import OBSERVATIONS, latest
    from surecut.monitoring.streams import Mean, State

    monitor = Monitor(certificate, place)
    for record in list(as_feedback(system[1]))[:40]:
        monitor.add([record])
    with monitor.store.reading() as connection:
        period = latest(connection, certificate.digest)
        rows = connection.execute(
            sa.select(OBSERVATIONS).where(OBSERVATIONS.c.stream == "claim").order_by(OBSERVATIONS.c.place)
        ).all()
    state, again = State.from_json(period.state), Mean(State.from_json(period.state).claim.level)
    for row in rows:
        evidence = again.observe(row.x, Levels())
        assert (row.ever, row.recent) == pytest.approx((evidence.ever, evidence.recent))
    assert again.ever == pytest.approx(state.claim.ever)
    assert [row.place for row in rows] == list(range(1, 41))
    assert json.loads(json.dumps(state.to_json())) == period.state


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


def test_an_overlap_is_with_one_top(system, place):
    """Feedback says one overlap a query, so a claim about the top 10 has no floor at another depth."""
    certificate = sc.calibrate(system[0], target=sc.agreement(0.5, 10))
    with pytest.raises(InputError, match="top 10"):
        Monitor(certificate, place).start(floor=sc.agreement(0.5, 1))
    Monitor(certificate, place).start(floor=sc.agreement(0.6, 10))


def test_an_alarm_of_agreement_says_what_it_promises(certificate, place):
    monitor = Monitor(certificate, place)
    monitor.start(floor=sc.agreement(0.9, 10))
    monitor.add([Feedback(f"q{number}", overlap=0.5) for number in range(200)])
    reasons = " ".join(monitor.standing().reasons)
    assert "against an agreement of at least 0.9 with the unpruned top 10 reached 20; were it true" in reasons
    assert "without a change that takes at least 1,000 of them, on average" in reasons


def test_figures_that_do_not_say_enough_hide_nothing(certificate, place, system):
    """A drop takes two figures; with lists and judgements it is computed, whatever else is told."""
    records = [msgspec.structs.replace(each, measured=0.5) for each in list(as_feedback(system[1]))[:5]]
    assert Monitor(certificate, place).add(records).counted["claim"] == 5


def test_lists_of_distances_are_refused(monitor, system):
    first = next(iter(as_feedback(system[1])))
    risen = msgspec.structs.replace(first, retriever=first.retriever[::-1])
    with pytest.raises(InputError, match=f"query '{first.id}': scores rise down the list"):
        monitor.add([risen])


def test_long_records_are_counted_a_few_at_a_time(monitor, monkeypatch):
    monkeypatch.setattr("surecut.monitoring.monitor._DOCUMENTS", 25)
    sizes = []
    counted = monitor.add_at_once
    monkeypatch.setattr(monitor, "add_at_once", lambda some: sizes.append(len(some)) or counted(some))
    monitor.add([Feedback(f"q{number}", judgements={f"d{place}": 1 for place in range(10)}) for number in range(7)])
    assert sizes == [2, 2, 2, 1]


def test_what_is_no_feedback_is_refused(monitor):
    with pytest.raises(InputError, match=r"made by Feedback\(id=...\), not of type dict"):
        monitor.add([{"id": "a", "measured": 1.0}])
