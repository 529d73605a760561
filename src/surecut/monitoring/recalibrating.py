"""A new certificate from the feedback of an old one, each look at it paid for out of delta."""

from dataclasses import replace

from surecut.calibration import calibrated
from surecut.candidates import Candidates
from surecut.certificate import Certificate
from surecut.checking import declared_measure
from surecut.errors import InputError
from surecut.monitoring.monitor import Monitor
from surecut.rederiving import Given, choices_of


def recalibrate(monitor: Monitor, look: int | None = None) -> tuple[Certificate, Candidates]:
    """The claim, rule and measure of a monitor's certificate again, on fresh complete feedback; and that feedback.

    Looks are declared when a period begins: look i takes the first `first_look` 2^(i-1) complete queries and tests at
    delta / 2^i, so that all looks together keep the confidence. By default the last look that there is data for. What
    was fitted is fitted again, on a share of the queries that is set aside; that share is declared too, because every
    other one would be another look.
    """
    old = monitor.certificate
    if old.procedure != "walk":
        raise InputError(f"the certificate was made by '{old.procedure}': make a new one with surecut calibrate")
    seen = monitor.look(look)
    found = calibrated_again(old, seen.data, seen.number, seen.tune_fraction)
    monitor.took(seen, found)
    return found, seen.data


def calibrated_again(old: Certificate, data: Candidates, look: int, tune_fraction: float) -> Certificate:
    """The same claim about other queries, tested with the share of delta that a look has."""
    if old.tune is not None and old.tune["source"] == "table":  # a table of old queries: the fresh ones tune anew
        old = replace(old, tune={**old.tune, "source": "fold"})
    unreachable = "relax-target" if old.status == "relaxed-target" else "abstain"
    asked = choices_of(old, Given(data, tune_fraction=tune_fraction))
    choices = replace(asked, look=look, grid="auto", if_unreachable=unreachable)
    return calibrated(choices, data, None, declared_measure(old, None)).certificate()
