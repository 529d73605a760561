"""A report promises no more than its certificate."""

import pytest

from surecut.report.quantities import confidence_shown
from surecut.report.wording import explorer_warning, promise_of
from tests.report.making import CASES, certificate


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
def test_the_explorer_warns_where_no_cell_certifies(name):
    assert (explorer_warning(certificate(name)) is None) == (certificate(name).status != "uncertified")


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
