"""Each test, asked about losses whose mean is exactly the level, rejects at most as often as promised."""

import numpy as np
import pytest

from surecut.bounds import TESTS
from surecut.bounds.wsr import evidence_factor
from tests.validity.verdict import LEVEL, exceeds

MEANS = (0.001, 0.01, 0.05, 0.1, 0.3, 0.62, 0.95)
VALUED = {
    "two values, one rare": ((0.45, 1.0), (0.98, 0.02)),
    "two values, near a drop": ((0.49, 0.53), (0.5, 0.5)),
    "three values, as a drop": ((0.25, 0.5, 0.75), (0.05, 0.9, 0.05)),
    "three values, skewed": ((0.0, 0.5, 1.0), (0.9, 0.07, 0.03)),
}
DELTAS = (0.1, 0.05, 0.01)
CERTIFIED = [test.name for test in TESTS if test.certified]


def rejections(name: str, draw, mean: float, n: int, delta: float, repetitions: int, seed: int) -> int:
    test, rng = TESTS[name], np.random.default_rng(seed)
    return sum(test.decision(draw(rng, n), mean, delta) for _ in range(repetitions))


def bernoulli(mean: float):
    return lambda rng, n: (rng.random(n) < mean).astype(np.float64)


def valued(values, shares):
    return lambda rng, n: rng.choice(np.array(values), size=n, p=shares)


def null_cases(name: str):
    for mean in MEANS:
        yield f"Bernoulli({mean})", bernoulli(mean), mean
    if not TESTS[name].needs_binary:
        for what, (values, shares) in VALUED.items():
            yield what, valued(values, shares), float(np.dot(values, shares))


def excesses(name: str, repetitions: int, sizes: tuple[int, ...], record) -> list[str]:
    """Where there are more rejections than chance explains: in one case, or in all of a delta together."""
    found = []
    for delta in DELTAS:
        worst, total, trials = (0.0, ""), 0, 0
        for seed, (what, draw, mean) in enumerate(null_cases(name)):
            for n in sizes:
                count = rejections(name, draw, mean, n, delta, repetitions, seed=seed * 10_000 + n)
                total, trials = total + count, trials + repetitions
                worst = max(worst, (count / repetitions, f"{what}, n = {n}"))
                if exceeds(count, repetitions, delta, LEVEL / 100):
                    found.append(f"{count} at {delta}: {what}, n = {n}")
        record("validity", f"null rejection of {name} at {delta}: worst {worst[0]:.4f} ({worst[1]})")
        if exceeds(total, trials, delta):
            found.append(f"{total} of {trials} at {delta}")
    return found


@pytest.mark.parametrize("name", CERTIFIED)
def test_null_rejection_in_short(name, record_property):
    assert excesses(name, repetitions=600, sizes=(300,), record=record_property) == []


@pytest.mark.study
@pytest.mark.parametrize("name", CERTIFIED)
def test_null_rejection(name, record_property):
    assert excesses(name, repetitions=4000, sizes=(30, 100, 1000), record=record_property) == []


@pytest.mark.study
def test_the_clt_rejects_more_often_than_it_says(record_property):
    """Why it is called asymptotic, and never certified."""
    assert excesses("clt", repetitions=4000, sizes=(30, 100, 1000), record=record_property)


@pytest.mark.parametrize("mean", [0.05, 0.3, 0.62])
def test_evidence_factor_is_rarely_large_when_the_claim_is_false(mean):
    rng, repetitions = np.random.default_rng(3), 3000
    factors = np.array([evidence_factor(bernoulli(mean)(rng, 200), mean) for _ in range(repetitions)])
    for t in (2.0, 10.0, 50.0):
        assert not exceeds(int(np.sum(factors >= t)), repetitions, 1 / t)
