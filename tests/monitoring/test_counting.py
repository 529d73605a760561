"""Feedback is counted once, completed bit by bit, and adds up to the same whoever writes it in whatever pieces."""

import msgspec
import pytest

import surecut as sc
from surecut.errors import InputError
from surecut.monitoring.feedback import Feedback, as_feedback
from surecut.monitoring.monitor import Monitor
from surecut.monitoring.streams import Levels
from tests.monitoring.conftest import figures


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


def test_two_certificates_share_a_store_and_nothing_else(certificate, system, place):
    other = sc.calibrate(system[0], target=sc.max_drop(0.1))
    one, two = Monitor(certificate, place), Monitor(other, place)
    one.add(figures(4))
    assert (one.standing().claim.count, two.standing().claim.count) == (4, 0)


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


def test_what_was_counted_before_a_fault_is_said(monitor, system):
    bad = msgspec.structs.replace(next(iter(as_feedback(system[1]))), ids=["a"] * 40)
    with pytest.raises(InputError, match="the 500 records before were counted"):
        monitor.add([*figures(510), bad])
    assert monitor.standing().claim.count == 500


def test_a_batch_may_be_counted_whole(monitor, system):
    records = [*figures(700), msgspec.structs.replace(next(iter(as_feedback(system[1]))), ids=["a"] * 40)]
    with pytest.raises(InputError, match="twice"):
        monitor.add_at_once(records)
    assert monitor.standing().claim.count == 0


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
