"""A new certificate from feedback: looks as declared, the same bytes whenever it is asked for."""

from dataclasses import replace

import pytest

import surecut as sc
from surecut.errors import InputError
from surecut.monitoring.feedback import Feedback
from surecut.monitoring.looks import looks_reached, queries_of
from surecut.monitoring.monitor import Monitor
from surecut.monitoring.recalibrating import recalibrate


@pytest.mark.parametrize(
    ("complete", "look"), [(0, 0), (99, 0), (100, 1), (199, 1), (200, 2), (399, 2), (400, 3), (799, 3), (800, 4)]
)
def test_looks_are_at_doubled_sizes(complete, look):
    assert looks_reached(complete, 100) == look
    assert (queries_of(look, 100) if look else 0) <= complete < queries_of(look + 1, 100)


@pytest.fixture
def monitor(certificate, place, system):
    found = Monitor(certificate, place)
    found.start(first_look=200)
    found.add_data(system[1])
    return found


def test_it_rests_on_the_first_queries_and_says_which_look_it_is(monitor, system):
    found, data = recalibrate(monitor)
    assert looks_reached(len(system[1]), 200) == 2
    assert (len(data), found.calibration["queries"], found.calibration["look"]) == (400, 400, 2)
    assert data.fingerprint() == system[1].take(range(400)).fingerprint()
    assert found.confidence == monitor.certificate.confidence
    assert "look 2, which has 25%" in found.assumptions[-1]
    assert found.target == monitor.certificate.target


def test_its_test_is_that_of_its_share(monitor):
    """A look at delta / 4 certifies what a calibration with a quarter of delta would."""
    found, data = recalibrate(monitor)
    strict = sc.calibrate(data, target=sc.max_drop(0.05), confidence=1 - 0.1 / 4)
    assert found.threshold == strict.threshold
    assert found.threshold <= sc.calibrate(data, target=sc.max_drop(0.05)).threshold


def test_the_same_look_gives_the_same_bytes_whatever_came_in_since(monitor):
    first, _ = recalibrate(monitor, look=1)
    monitor.add([Feedback(f"late{number}", measured=0.1, full=0.9) for number in range(20)])
    again, _ = recalibrate(monitor, look=1)
    assert first.to_json() == again.to_json()


def test_it_can_be_verified_with_its_data_and_another_look_is_told(monitor):
    found, data = recalibrate(monitor)
    assert sc.verify(found, data).identical
    changed = replace(found, calibration={**found.calibration, "look": 1})
    assert not sc.verify(changed, data).same


def test_too_few_queries_are_counted_out(certificate, place):
    monitor = Monitor(certificate, place)
    with pytest.raises(InputError, match="nothing has come in"):
        recalibrate(monitor)
    monitor.add([Feedback("a", measured=0.5, full=0.5)])
    with pytest.raises(InputError, match="0 complete queries have come in, and look 1 is at 459"):
        recalibrate(monitor)


def test_a_look_that_has_not_come_yet_is_refused(monitor):
    with pytest.raises(InputError, match="look 3 is at 800"):
        recalibrate(monitor, look=3)


def test_a_restart_leaves_nothing_to_recalibrate_on(monitor):
    monitor.restart()
    with pytest.raises(InputError, match="0 complete queries"):
        recalibrate(monitor)


def test_the_looks_that_were_taken_are_shown(monitor):
    recalibrate(monitor, look=1)
    recalibrate(monitor, look=1)
    found, _ = recalibrate(monitor)
    assert [number for number, _ in monitor.standing().looks] == [1, 2]
    assert monitor.standing().looks[1] == (2, found.status)


def test_empty_lists_are_no_part_of_a_claim_that_is_not_about_them(system, place):
    certificate = sc.calibrate(system[0], target=sc.agreement(0.5, 10))
    monitor = Monitor(certificate, place)
    monitor.start(first_look=60)
    monitor.add([Feedback(f"empty{number}", [], [], []) for number in range(40)])
    monitor.add_data(system[1])
    assert monitor.standing().claim.count == len(system[1])
    _, data = recalibrate(monitor, look=1)
    assert len(data) == 60


def test_a_procedure_that_certifies_nothing_is_not_repeated(system, place):
    empirical = sc.calibrate(system[0], target=sc.max_drop(0.05), procedure="est")
    with pytest.raises(InputError, match="surecut calibrate"):
        recalibrate(Monitor(empirical, place))


@pytest.mark.parametrize("table", [False, True])
def test_what_is_fitted_is_fitted_again_on_other_queries(system, place, table):
    own, other = system[0].split((0.8, 0.2), seed=1)
    data, tune = (own, other) if table else (system[0], None)
    fused = sc.calibrate(data, target=sc.max_drop(0.1), fusion="fit", rule="softmax-fitted", tune=tune)
    monitor = Monitor(fused, place)
    monitor.start(first_look=300)
    monitor.add_data(system[1])
    found, _ = recalibrate(monitor)
    assert found.tune is not None
    assert found.tune["source"] == "fold"
    assert found.calibration["queries"] + found.tune["queries"] == 300


def test_the_share_that_tunes_is_declared_too(system, place):
    """Each other share would be another test of the same look."""
    fused = sc.calibrate(system[0], target=sc.max_drop(0.1), fusion="fit")
    monitor = Monitor(fused, place)
    monitor.start(first_look=300, tune_fraction=0.4)
    monitor.add_data(system[1])
    found, _ = recalibrate(monitor)
    assert found.tune is not None
    assert 80 < found.tune["queries"] < 160
    with pytest.raises(TypeError, match="tune_fraction"):
        recalibrate(monitor, tune_fraction=0.2)
    with pytest.raises(InputError, match="the tuning share"):
        Monitor(fused, place).restart(tune_fraction=1.5)
