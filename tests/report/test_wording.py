"""A report promises no more than its certificate."""

import pytest

import surecut as sc
from surecut.report.figures import make_figures
from surecut.report.gathering import gather
from surecut.report.palette import PAPER
from surecut.report.quantities import confidence_shown
from surecut.report.wording import explorer_caveat, promise_of
from tests.report.making import CASES, assessed, certificate, report


@pytest.mark.parametrize("name", CASES)
def test_only_a_certificate_that_certifies_promises_something(name):
    cert = certificate(name)
    promise = promise_of(cert)
    text = " ".join(promise.promises)
    promised = "With a probability of at least 90%" in text
    assert promised == (cert.status in ("certified", "relaxed-target"))
    if cert.status in ("uncertified", "abstained"):
        assert text.startswith("Nothing.")
    assert promise.does_not
    assert promise.voids


@pytest.mark.parametrize("name", CASES)
def test_no_cell_is_called_valid_where_none_certifies(name):
    caveat = explorer_caveat(certificate(name))
    assert ("valid" in caveat.text) == (certificate(name).status != "uncertified")
    assert caveat.tone == ("bad" if certificate(name).status == "uncertified" else "caution")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("drop", "where the walk from “keep everything” stopped"),
        ("several starts", "the farthest that any of 3 walks came"),
        ("EST", "it is not certified"),
        ("published", "it is not certified"),
        ("clt", "only approximate (clt)"),
        ("abstained", "No threshold is certified."),
        ("relaxed target", "nothing is pruned"),
    ],
)
def test_a_figure_says_how_its_threshold_was_chosen(name, words):
    assert words in make_figures(report(name), PAPER)[0].caption


def test_a_cut_fixed_in_advance_is_no_walk():
    assert "fixed in advance" in make_figures(assessed(), PAPER)[0].caption


def test_a_loss_that_rises_is_worse():
    figure = make_figures(report("loss"), PAPER)[-1]
    hit = report("loss").changes.worst[0]
    assert hit.pruned > hit.full, "the worst-hit query has the larger loss when pruned"
    assert "queries are worse off" in figure.caption
    assert "−1.0 to −0.9" in {row[0] for row in figure.rows}


def test_a_relaxed_target_promises_the_weaker_claim():
    cert = certificate("relaxed target")
    text = " ".join(promise_of(cert).promises)
    assert f"mean RR@10 is at least {cert.relaxed['value']:g}" in text
    assert "Not what was asked for (mean RR@10 is at least 0.6)" in text


@pytest.mark.parametrize(
    ("confidence", "words"), [(0.9, "90%"), (0.99, "99%"), (0.9875, "98.75%"), (0.999875, "99.9875%")]
)
def test_confidence_is_not_rounded_up_to_certainty(confidence, words):
    assert confidence_shown(confidence) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0.45, ["EST and ERT: the smallest cut by score and by rank whose"]),
        (0.504, ["EST: the smallest cut by score whose", "No cut by rank meets the target on these queries, so ERT"]),
        (0.9, ["No cut by score and by rank meets the target on these queries, so EST and ERT"]),
    ],
)
def test_a_figure_says_which_baseline_meets_the_target(value, words):
    data = sc.simulate("lured", 600, 300, seed=1)
    figures = make_figures(gather(sc.calibrate(data, target=sc.at_least(value)), data), PAPER)
    caption = next(figure.caption for figure in figures if figure.name == "quality-by-size")
    assert [part for part in words if part not in caption] == []
    assert caption.count("EST") == caption.count("ERT") == 1
