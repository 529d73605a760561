"""Procedures without a promise of ours: their error rates are measured and printed, not asserted."""

from dataclasses import replace

import numpy as np
import pytest

from surecut.baselines import published_procedure
from surecut.bounds import TESTS
from surecut.deciding import decide
from tests.validity.design import Cell
from tests.validity.truth import DELTA, Population, population


def rates(whole: Population, n: int, repetitions: int) -> tuple[set[str], float, float]:
    """What the clt walk calls itself; its false claims, and the published procedure's with its risk correction."""
    rng = np.random.default_rng(7)
    normal = replace(whole.choices, test=TESTS["clt"])
    clt, paper, statuses = 0, 0, set()
    for _ in range(repetitions):
        sample = whole.sample(n, rng)
        decision = decide(normal, whole.fitted, sample.losses, sample.capped)
        statuses.add(decision.status)
        clt += decision.status != "abstained" and whole.truth(decision.threshold) > whole.level
        found = published_procedure(sample.losses, whole.level, DELTA)
        claimed = whole.level if found.reached else found.corrected_level
        paper += claimed is not None and _best_truth(whole, found) > claimed
    return statuses, clt / repetitions, paper / repetitions


def _best_truth(whole: Population, found) -> float:
    """What the corrected claim is about: the set it was read off; the smallest risk there is, to be lenient."""
    if found.reached:
        return whole.truth(found.threshold)
    return min(whole.truth(t) for t in np.linspace(-12, 0, 100))


@pytest.mark.study
@pytest.mark.parametrize("name", ["dense-electra", "lured"])
@pytest.mark.parametrize("n", [300, 1000])
def test_error_rates_of_clt_and_of_the_published_procedure(name, n, record_property):
    whole = population(Cell(test="wsr", rule="softmax-fitted", system=name, n=n))
    statuses, clt, paper = rates(whole, n, 200)
    record_property("validity", f"reported, {name}, n = {n}: clt {clt:.3f}, published procedure {paper:.3f}")
    assert statuses <= {"uncertified", "abstained"}
