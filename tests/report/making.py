"""Certificates of every kind with their data, and the reports on them, made once."""

from functools import cache

import numpy as np

import surecut as sc
from surecut.report.gathering import Report, gather


def misses_the_first_three(grades: np.ndarray, missed: np.ndarray) -> float:
    """A loss of one's own."""
    return 0.0 if np.any(grades[:3] > 0) else 1.0


WHOLE = sc.simulate(queries=800, depth=40, seed=1)
DATA, HELD_OUT = WHOLE.split((0.6, 0.4))
GROUPED = DATA.with_groups({query: f"g{place // 3}" for place, query in enumerate(DATA.query_ids)})
DROP = {"target": sc.max_drop(0.05)}

CASES = {
    "drop": (DATA, DROP),
    "absolute drop, append": (DATA, {"target": sc.max_drop(0.1, absolute=True), "tail": "append"}),
    "several starts": (DATA, {"target": sc.at_least(0.35)}),
    "binomial": (DATA, {"target": sc.at_least(0.5), "measure": "Success@10"}),
    "agreement": (DATA, {"target": sc.agreement(0.8, k=5)}),
    "loss": (DATA, {"target": sc.risk(misses_the_first_three, 0.6)}),
    "fitted": (DATA, {**DROP, "rule": "softmax-fitted", "fusion": "fit"}),
    "rank": (DATA, {**DROP, "rule": "rank"}),
    "cap": (DATA, {"target": sc.max_drop(0.2), "max_keep": 20, "min_keep": 0}),
    "groups": (GROUPED, {"target": sc.max_drop(0.1)}),
    "published": (DATA, {**DROP, "procedure": "paper"}),
    "EST": (DATA, {**DROP, "procedure": "est"}),
    "clt": (DATA, {**DROP, "test": "clt"}),
    "abstained": (DATA, {"target": sc.max_drop(0.0001)}),
    "relaxed target": (DATA, {"target": sc.at_least(0.6), "if_unreachable": "relax-target"}),
    "relaxed confidence": (DATA, {"target": sc.at_least(0.45), "if_unreachable": "relax-confidence"}),
}


def loss_of(name: str) -> dict[str, object]:
    """What a certificate does not record."""
    return {"loss": misses_the_first_three} if name == "loss" else {}


@cache
def certificate(name: str) -> sc.Certificate:
    data, options = CASES[name]
    return sc.calibrate(data, **options)


@cache
def report(name: str) -> Report:
    return gather(certificate(name), CASES[name][0], **loss_of(name))


@cache
def assessed() -> Report:
    """A cut that was fixed in advance."""
    return gather(sc.assess(DATA, keep=10), DATA)
