"""Alarms of the monitor keep their promises while nothing is wrong, and come soon once something is."""

import math
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import pytest

import surecut as sc
from surecut.curves import measure_curves
from surecut.deciding import decide
from surecut.fusion import final_scores
from surecut.measures import as_measure
from surecut.monitoring.drift import PROFILE, Drift, Jumper, Ranks
from surecut.monitoring.feedback import as_feedback
from surecut.monitoring.looks import queries_of
from surecut.monitoring.measuring import Gauge
from surecut.monitoring.recalibrating import calibrated_again
from surecut.monitoring.streams import Levels, Mean, Traffic
from tests.validity.design import Cell
from tests.validity.truth import DELTA, Population, population
from tests.validity.verdict import exceeds

LEVELS = Levels()
FOREVER = 2_000  # observations that stand for "ever"

Draw = Callable[[np.random.Generator, int], np.ndarray]

AT_THE_LEVEL: dict[str, tuple[float, Draw]] = {
    "0/1 losses": (0.6, lambda rng, n: (rng.random(n) < 0.6).astype(float)),
    "rare losses": (0.05, lambda rng, n: (rng.random(n) < 0.05).astype(float)),
    "spread losses": (0.5, lambda rng, n: rng.beta(0.5, 0.5, n)),
    "drops": (0.5, lambda rng, n: np.where(rng.random(n) < 0.15, rng.choice([0.0, 1.0], n), 0.5)),
}
"""Losses whose mean is exactly the level: a claim that is true by a hair."""


def alarms(level: float, losses: Iterable[float], levels: Levels = LEVELS) -> dict[str, int]:
    mean = Mean(level)
    for x in losses:
        mean.observe(x, levels)
    return mean.alarms


@pytest.mark.parametrize("name", AT_THE_LEVEL)
def test_the_e_process_rarely_ever_cries_wolf(name, record_property):
    level, draw = AT_THE_LEVEL[name]
    rng, repetitions = np.random.default_rng(1), 200
    false = sum("ever" in alarms(level, draw(rng, FOREVER).tolist()) for _ in range(repetitions))
    record_property("validity", f"monitor, e-process, {name}: {false} of {repetitions} false alarms, promised 5%")
    assert not exceeds(false, repetitions, 1 / LEVELS.ever)


@pytest.mark.parametrize("name", AT_THE_LEVEL)
@pytest.mark.parametrize("at", [30.0, 300.0, pytest.param(1000.0, marks=pytest.mark.study)])
def test_the_e_cusum_takes_long_to_cry_wolf(name, at, record_property):
    """On average at least as many observations as its level; those that never alarm here count as long as they ran."""
    level, draw = AT_THE_LEVEL[name]
    rng, repetitions, longest = np.random.default_rng(2), 60, int(20 * at)
    levels = Levels(1e300, at)
    lengths = np.array([_run_length(level, draw(rng, longest), levels) for _ in range(repetitions)])
    error = lengths.std(ddof=1) / math.sqrt(repetitions)
    record_property(
        "validity", f"monitor, e-CUSUM at {at:g}, {name}: {lengths.mean():,.0f} on average to a false alarm"
    )
    assert lengths.mean() + 3.1 * error >= at


def _run_length(level: float, losses: np.ndarray, levels: Levels) -> int:
    mean = Mean(level)
    for x in losses.tolist():
        mean.observe(x, levels)
        if mean.alarms:
            break
    return mean.count


def test_a_claim_that_has_become_false_is_found_soon():
    """Losses rise from 0.6 to 0.7 after 500 queries that were fine."""
    rng, repetitions = np.random.default_rng(3), 50
    delays = []
    for _ in range(repetitions):
        losses = np.concatenate((rng.random(500) < 0.6, rng.random(2_000) < 0.7)).astype(float)
        found = alarms(0.6, losses.tolist())
        delays.append(min(found.get("recent", math.inf), found.get("ever", math.inf)) - 500)
    assert np.median(delays) < 500
    assert np.mean(np.array(delays) > 2_000) <= 0.1


def test_the_e_cusum_is_no_e_process():
    """A negative control: read at the level of the e-process, what forgets its losses cries wolf far too often."""
    level, draw = AT_THE_LEVEL["spread losses"]
    rng, repetitions = np.random.default_rng(4), 100
    false = sum("recent" in alarms(level, draw(rng, FOREVER).tolist(), Levels(20, 20)) for _ in range(repetitions))
    assert exceeds(false, repetitions, 1 / 20)


def test_looking_every_day_at_a_test_for_one_day_is_caught():
    """A negative control: a z-test at 5%, asked after every query, is no monitor."""
    level, draw = AT_THE_LEVEL["spread losses"]
    rng, repetitions, false = np.random.default_rng(5), 100, 0
    for _ in range(repetitions):
        x = draw(rng, FOREVER)
        n = np.arange(1, FOREVER + 1)
        mean = np.cumsum(x) / n
        sd = np.sqrt(np.maximum(np.cumsum(x**2) / n - mean**2, 1e-12))
        false += bool(np.any(((mean - level) / (sd / np.sqrt(n)) > 1.645)[30:]))
    assert exceeds(false, repetitions, 0.05)


def profiles_of(rng: np.random.Generator, n: int, shift: float = 0.0, digits: int = 3) -> list[dict[str, float]]:
    """Profiles of lists whose numbers hang together, as those of real lists do."""
    common = rng.normal(size=n)
    columns = {name: 20 + 5 * (0.8 * common + 0.6 * rng.normal(size=n) + shift) for name in PROFILE}
    return [{name: float(f"{columns[name][i]:.{digits}g}") for name in PROFILE} for i in range(n)]


def traffic_after(rng: np.random.Generator, reference: int, traffic: list[dict[str, float]], digits: int) -> Traffic:
    seen = profiles_of(rng, reference, digits=digits)
    found = Traffic(Drift({name: Ranks.of(each[name] for each in seen) for name in PROFILE}))
    salt = str(rng.integers(2**60))
    for number, each in enumerate(traffic):
        found.observe(each, salt, str(number), LEVELS)
    return found


@pytest.mark.parametrize(("reference", "digits"), [(0, 3), (40, 3), (500, 3), (500, 1)])
def test_the_same_traffic_is_rarely_ever_called_another(reference, digits, record_property):
    """With few calibration queries, with none, and where nearly all numbers are ties."""
    rng, repetitions = np.random.default_rng(6), 120
    false = sum(
        bool(traffic_after(rng, reference, profiles_of(rng, 600, digits=digits), digits).alarms)
        for _ in range(repetitions)
    )
    record_property(
        "validity", f"monitor, drift beside {reference}: {false} of {repetitions} false alarms, promised 5%"
    )
    assert not exceeds(false, repetitions, 1 / LEVELS.ever)


def test_other_traffic_is_found_soon():
    """Half a standard deviation off, beside 500 queries of calibration."""
    rng = np.random.default_rng(7)
    delays = [traffic_after(rng, 500, profiles_of(rng, 400, shift=0.5), 3).alarms.get("ever") for _ in range(30)]
    assert None not in delays
    assert np.median(np.array(delays, dtype=float)) < 100


def test_lists_that_are_counted_twice_are_caught():
    """A negative control: the same query under two ids, as a page that is loaded twice; hence one id a query."""
    rng, repetitions = np.random.default_rng(13), 60
    false = sum(
        bool(traffic_after(rng, 300, [each for each in profiles_of(rng, 300) for _ in range(2)], 3).alarms)
        for _ in range(repetitions)
    )
    assert exceeds(false, repetitions, 1 / LEVELS.ever)


def test_labels_that_come_late_when_they_are_good_are_caught():
    """A negative control: who complains is heard first; hence labels in an order that knows nothing of them."""
    rng, repetitions, false = np.random.default_rng(14), 60, 0
    for _ in range(repetitions):
        losses = (rng.random(FOREVER) < 0.05).astype(float)
        arrival = np.arange(FOREVER) + np.where(losses == 0.0, 200, 0)
        false += "ever" in alarms(0.05, losses[np.argsort(arrival, kind="stable")].tolist())
    assert exceeds(false, repetitions, 1 / LEVELS.ever)


def test_ranks_among_calibration_alone_are_caught():
    """A negative control: p-values that forget past traffic hang together, and their martingale is none."""
    rng, repetitions, false = np.random.default_rng(8), 60, 0
    for _ in range(repetitions):
        ranks, jumper, peak = Ranks.of(rng.normal(size=60)), Jumper(), 0.0
        for value, chance in zip(rng.normal(size=2_000), rng.random(2_000), strict=True):
            jumper.bet(ranks.p_value(float(value), float(chance)))
            peak = max(peak, jumper.log_capital)
        false += peak >= math.log(20)
    assert exceeds(false, repetitions, 1 / 20)


@pytest.fixture(scope="module")
def readings() -> dict[str, np.ndarray]:
    """What feedback of real lists says of a certificate whose claim the population meets by a hair."""
    data = sc.simulate("dense-electra", queries=3_000, depth=50, seed=21)
    rough = sc.calibrate(data, target=sc.max_drop(0.02))
    drop = rough.check(data).estimate
    gauge = Gauge(replace(rough, target={"kind": "max_drop", "value": drop + 1e-9}))
    found = gauge.read(list(as_feedback(data)))
    losses = np.array([each.claim.x for each in found if each.claim is not None])
    assert losses.size == len(data)
    assert losses.mean() == pytest.approx(gauge.target.level, abs=1e-9)
    return {"claim": losses, "agreement": np.array([1 - each.overlap for each in found if each.overlap is not None])}


@pytest.mark.parametrize("stream", ["claim", "agreement"])
def test_feedback_of_real_lists_rarely_cries_wolf(stream, readings, record_property):
    """From lists, scores and judgements to alarms; the floor of agreement is the population's own."""
    losses = readings[stream]
    rng, repetitions, level = np.random.default_rng(9), 120, float(losses.mean())
    false = sum("ever" in alarms(level, rng.choice(losses, FOREVER).tolist()) for _ in range(repetitions))
    record_property("validity", f"monitor, {stream} of real lists: {false} of {repetitions} false, promised 5%")
    assert not exceeds(false, repetitions, 1 / LEVELS.ever)


def test_agreement_that_has_fallen_is_found_soon(readings):
    """Five points below the floor that was declared."""
    losses, rng = readings["agreement"], np.random.default_rng(12)
    level = float(losses.mean()) - 0.05
    delays = [alarms(level, rng.choice(losses, FOREVER).tolist()).get("ever", math.inf) for _ in range(30)]
    assert np.median(delays) < 600


LOOKS = 4


def false_looks(whole: Population, spends: bool, repetitions: int, seed: int) -> int:
    """How often any of several looks at one growing sample certifies what is false."""
    rng, false = np.random.default_rng(seed), 0
    for _ in range(repetitions):
        largest = whole.sample(queries_of(LOOKS, 100), rng)
        for look in range(1, LOOKS + 1):
            first = np.arange(queries_of(look, 100))
            sample = replace(largest, curves=largest.curves.take(first), losses=largest.losses.take(first))
            choices = replace(whole.choices, look=look if spends else 0)
            if whole.is_false(decide(choices, whole.fitted, sample.losses, sample.capped)):
                false += 1
                break
    return false


def test_all_looks_of_recalibration_together_keep_the_confidence(record_property):
    whole, repetitions = population(Cell(ties=True)), 300
    false = false_looks(whole, True, repetitions, 10)
    record_property("validity", f"recalibration, {LOOKS} looks: {false} of {repetitions} false, promised {DELTA:.0%}")
    assert not exceeds(false, repetitions, DELTA)


def test_looks_that_are_not_paid_for_are_caught():
    """A negative control: each look at the whole of delta."""
    whole, repetitions = population(Cell(ties=True)), 300
    assert exceeds(false_looks(whole, False, repetitions, 11), repetitions, DELTA)


def truly_false(found: sc.Certificate, everybody: sc.Candidates) -> bool:
    """Is what is certified false for the population that was sampled from?"""
    if found.status != "certified":
        return False
    keys, final = found.pruner.rule.keys(everybody), final_scores(everybody, float(found.fusion["beta"]))
    curves = measure_curves(everybody, keys, final, as_measure(found.measure), "drop", found.min_keep, None)
    pruned, target = curves.at(found.threshold), sc.max_drop(found.target["value"])
    return bool(target.variable(pruned, curves.full).mean() > target.level)


def test_looks_that_fit_something_keep_the_confidence(record_property):
    """Recalibration whole: the fusion weight is fitted on the share that was declared, and the rest certifies."""
    everybody = sc.simulate("dense-electra", queries=3_000, depth=20, seed=31)
    old = sc.calibrate(everybody.take(np.arange(600)), target=sc.max_drop(0.2), confidence=1 - DELTA, fusion="fit")
    rng, repetitions, false = np.random.default_rng(32), 150, 0
    for _ in range(repetitions):
        drawn = everybody.take(rng.integers(len(everybody), size=queries_of(2, 400)))
        drawn = replace(drawn, query_ids=np.array([f"{rng.integers(2**60)}" for _ in range(len(drawn))], dtype=object))
        looks = ((look, drawn.take(np.arange(queries_of(look, 400)))) for look in (1, 2))
        false += any(truly_false(calibrated_again(old, data, look, 0.2), everybody) for look, data in looks)
    record_property(
        "validity", f"recalibration that fits, 2 looks: {false} of {repetitions} false, promised {DELTA:.0%}"
    )
    assert not exceeds(false, repetitions, DELTA)
