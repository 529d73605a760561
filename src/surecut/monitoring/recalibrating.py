"""A new certificate from the feedback of an old one, each look at it paid for out of delta."""

from dataclasses import replace

from surecut.calibration import certificate as written
from surecut.calibration import decide, fit, prepare
from surecut.candidates import Candidates
from surecut.certificate import Certificate
from surecut.checking import declared_measure
from surecut.errors import InputError
from surecut.folding import fold
from surecut.monitoring.monitor import Monitor
from surecut.rederiving import Given, choices_of


def recalibrate(monitor: Monitor, look: int | None = None) -> tuple[Certificate, Candidates]:
    """The claim, rule and measure of a monitor's certificate again, on fresh complete feedback; and that feedback.

    Looks are declared when a period begins: look i takes the first `first_look` 2^(i-1) complete queries and tests at
    delta / 2^i, so that all looks together keep the confidence. By default the last look that there is data for.
    """
    old = monitor.certificate
    if old.procedure != "walk":
        raise InputError(f"the certificate was made by '{old.procedure}': make a new one with surecut calibrate")
    data, number = monitor.complete(look)
    found = _calibrated(old, data, number)
    monitor.took(number, found)
    return found, data


def _calibrated(old: Certificate, data: Candidates, look: int) -> Certificate:
    declared = declared_measure(old, None)
    if old.tune is not None and old.tune["source"] == "table":  # a table of old queries: the fresh ones tune anew
        old = replace(old, tune={**old.tune, "source": "fold"})
    unreachable = "relax-target" if old.status == "relaxed-target" else "abstain"
    choices = replace(choices_of(old, Given(data)), look=look, grid="auto", if_unreachable=unreachable)
    folds = fold(data.cut(choices.depth), choices, None)
    fitted = fit(folds, choices, declared)
    prepared = prepare(folds.calibration, choices, fitted)
    return written(choices, folds, fitted, prepared, decide(choices, fitted, prepared))
