"""From feedback to what the claim is about: lists, figures, measures of one's own, and queries with nothing found."""

from dataclasses import replace

import msgspec
import numpy as np
import pytest

import surecut as sc
from surecut.errors import InputError
from surecut.monitoring.feedback import Feedback, as_feedback
from surecut.monitoring.monitor import Monitor
from surecut.monitoring.recalibrating import recalibrate
from tests.monitoring.conftest import figures


def test_overlap_is_that_of_an_agreement_claim(monitor, system):
    monitor.add_data(system[1])
    certificate = monitor.certificate
    same_cut = sc.calibrate(system[0], target=sc.agreement(0.5, 10))
    other = replace(same_cut, threshold=certificate.threshold)
    assert monitor.standing().agreement.estimate == pytest.approx(other.check(system[1]).estimate)


@pytest.mark.parametrize("figure", ["measured", "full", "overlap"])
@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), float("inf")])
def test_figures_are_shares(figure, value):
    with pytest.raises(InputError, match=f"{figure}: Expected 'float' (<= 1|>= 0)"):
        Feedback("a", **{figure: value})


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


def test_an_overlap_is_with_one_top(system, place):
    """Feedback says one overlap a query, so a claim about the top 10 has no floor at another depth."""
    certificate = sc.calibrate(system[0], target=sc.agreement(0.5, 10))
    with pytest.raises(InputError, match="top 10"):
        Monitor(certificate, place).start(floor=sc.agreement(0.5, 1))
    Monitor(certificate, place).start(floor=sc.agreement(0.6, 10))


def test_figures_that_do_not_say_enough_hide_nothing(certificate, place, system):
    """A drop takes two figures; with lists and judgements it is computed, whatever else is told."""
    records = [msgspec.structs.replace(each, measured=0.5) for each in list(as_feedback(system[1]))[:5]]
    assert Monitor(certificate, place).add(records).counted["claim"] == 5
