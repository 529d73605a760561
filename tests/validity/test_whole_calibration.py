"""`calibrate` from beginning to end on resampled queries: folds, fits, placement, limits and order included."""

from dataclasses import replace

import numpy as np
import pytest

from surecut.bounds import TESTS
from surecut.calibration import calibrate
from surecut.candidates import Candidates
from surecut.certificate import Certificate
from surecut.curves import Curves, measure_curves
from surecut.deciding import decide
from surecut.fusion import final_scores
from surecut.measures import as_measure
from surecut.rules import KEEP_EVERYTHING
from surecut.targets import agreement, at_least, max_drop, target_from_json
from tests.validity.design import Cell
from tests.validity.truth import DELTA, Population, churning_population, population, system
from tests.validity.verdict import exceeds

WAYS = {
    "starts placed on queries set aside": {"rule": "score", "target": at_least(0.44)},
    "temperature fitted on a fold": {"rule": "softmax-fitted", "target": at_least(0.44)},
    "fusion weight fitted on a fold": {"fusion": "fit", "target": max_drop(0.1)},
    "grid placed on queries set aside": {"rule": "gap", "grid": "fixed", "target": max_drop(0.1)},
    "a cap, and a drop": {"max_keep": 30, "target": max_drop(0.15)},
    "a cap, and a mean": {"max_keep": 30, "target": at_least(0.42), "if_unreachable": "relax-target"},
    "a cap, and agreement": {"max_keep": 60, "target": agreement(0.6, 5)},
    "nothing kept if need be": {"min_keep": 0, "rule": "score", "target": max_drop(0.2)},
}


def drawn(data: Candidates, n: int, rng: np.random.Generator) -> Candidates:
    """n queries with replacement, each a new query with an id of its own."""
    sample = data.take(rng.integers(0, len(data), n))
    names = np.array([f"draw-{rng.integers(2**62)}" for _ in range(n)], dtype=object)
    return replace(sample, query_ids=names)


def is_false(certificate: Certificate, data: Candidates) -> bool:
    """Is what it claims untrue of the whole population?"""
    if certificate.status not in ("certified", "relaxed-target"):
        return False
    target = target_from_json(dict(certificate.target))
    if certificate.relaxed is not None:
        target = target.with_value(certificate.relaxed["value"])
    curves = measure_curves(
        data,
        certificate.pruner.rule.keys(data),
        final_scores(data, certificate.fusion["beta"]),
        target.measure(as_measure("RR@10")),
        "drop",
        certificate.min_keep,
        certificate.max_keep,
    )
    return float(target.losses(curves).at(certificate.threshold).mean()) > target.level + 1e-12


def outcomes(way: str, repetitions: int, record) -> tuple[int, int]:
    """False claims, and claims."""
    data, rng = system("dense-electra", True), np.random.default_rng(8)
    made = [calibrate(drawn(data, 250, rng), **WAYS[way]) for _ in range(repetitions)]
    false = sum(is_false(certificate, data) for certificate in made)
    claimed = sum(certificate.status in ("certified", "relaxed-target") for certificate in made)
    record("validity", f"calibrate, {way}: {false} false of {repetitions} ({claimed} claimed something)")
    return false, claimed


@pytest.mark.parametrize("way", WAYS)
def test_calibrate_keeps_its_promise_in_short(way, record_property):
    false, claimed = outcomes(way, 60, record_property)
    assert claimed > 0
    assert not exceeds(false, 60, DELTA)


@pytest.mark.study
@pytest.mark.parametrize("way", WAYS)
def test_calibrate_keeps_its_promise(way, record_property):
    false, claimed = outcomes(way, 400, record_property)
    assert claimed > 0
    assert not exceeds(false, 400, DELTA)


def test_removals_that_changed_nothing_in_the_sample_are_tested_all_the_same():
    """Three queries in a hundred lose everything at the lowest key: a sample of forty often shows none of them."""
    queries, hit = 1000, 30
    full = np.ones(queries)
    offsets = np.concatenate((np.arange(hit + 1), np.full(queries - hit, hit)))
    curves = Curves(full, full.copy(), offsets, np.zeros(hit), np.zeros(hit))
    example = population(Cell(target="max_drop"))
    target = max_drop(0.02)
    whole = Population(
        replace(example.choices, target=target),
        example.fitted,
        replace(example.prepared, curves=curves, losses=target.losses(curves)),
    )
    assert whole.truth(1.0) > target.level
    assert not exceeds(whole.false_claims(40, 1000, seed=9), 1000, DELTA)


def test_the_ladder_has_the_first_share_of_delta_only():
    """The target is far out of reach: what the relaxed one comes to is what that share rejects."""
    whole, rng = churning_population(3, at_least(0.5)), np.random.default_rng(13)
    choices = replace(whole.choices, target=at_least(0.9), if_unreachable="relax-target")
    starts = replace(whole.fitted, starts=(KEEP_EVERYTHING, 1.5, 2.5))
    sample = whole.sample(300, rng)
    prepared = replace(sample, losses=choices.target.losses(sample.curves))
    claimed = {
        share: choices.target.value_at(choices.test.upper_bound(prepared.losses.start, share * DELTA))
        for share in (0.34, 1.0)
    }
    assert claimed[0.34] < claimed[1.0]
    found = decide(choices, starts, prepared.losses, prepared.capped)
    assert found.relaxed == {"value": pytest.approx(claimed[0.34])}


@pytest.mark.parametrize("name", [test.name for test in TESTS if test.certified and not test.needs_binary])
def test_several_starts_and_the_ladder_share_one_delta(name):
    """The target is false by a hair at every start, and the losses at the starts are unrelated."""
    whole, rng, repetitions = churning_population(3, at_least(0.5)), np.random.default_rng(10), 500
    choices = replace(whole.choices, test=TESTS[name], if_unreachable="relax-target")
    starts = replace(whole.fitted, starts=(KEEP_EVERYTHING, 1.5, 2.5))
    whole = replace(whole, choices=choices, fitted=starts)
    false = sum(whole.is_false(whole.decision(300, rng)) for _ in range(repetitions))
    assert not exceeds(false, repetitions, DELTA)


@pytest.mark.parametrize("met", [(), (0,), (1, 2), (0, 1, 2)], ids=str)
@pytest.mark.parametrize("name", [test.name for test in TESTS if test.certified and not test.needs_binary])
def test_levels_that_are_passed_on_stay_within_delta(name, met):
    """Where the target is met a chain gets through and leaves its level to the next, where it is false by a hair."""
    whole, rng, repetitions = churning_population(4, at_least(0.5), met=met), np.random.default_rng(12), 500
    choices = replace(whole.choices, test=TESTS[name])
    starts = replace(whole.fitted, starts=(KEEP_EVERYTHING, 1.5, 2.5))
    whole = replace(whole, choices=choices, fitted=starts)
    found = [whole.decision(300, rng) for _ in range(repetitions)]
    assert not exceeds(sum(map(whole.is_false, found)), repetitions, DELTA)
    if met:  # or nothing was passed on
        assert sum(each.status == "certified" for each in found) > 0.9 * repetitions
