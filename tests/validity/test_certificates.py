"""The share of certificates whose claim is false is at most delta, in every cell of the design."""

import pytest

from tests.validity.design import FACTORS, covering_design, pairs, possible
from tests.validity.truth import DELTA, population
from tests.validity.verdict import LEVEL, exceeds

DESIGN = covering_design()
TESTS = FACTORS["test"]


def false_claims_by_cell(test: object, repetitions: int, largest: int) -> dict[int, int]:
    """False claims in each cell of the design that uses this test."""
    counts = {}
    for number, cell in enumerate(DESIGN):
        if cell.test == test and cell.n <= largest:
            counts[number] = population(cell).false_claims(cell.n, repetitions, seed=1000 + number)
    return counts


def excesses(test: object, repetitions: int, largest: int, record) -> list[str]:
    """Where there are more false claims than chance explains: in all cells together, or in one."""
    counts = false_claims_by_cell(test, repetitions, largest)
    trials = repetitions * len(counts)
    worst = max(counts, key=lambda number: counts[number])
    record(
        "validity",
        f"{test}: {sum(counts.values())} false of {trials} (promised at most {DELTA:.0%}); "
        f"worst cell {counts[worst] / repetitions:.3f} {DESIGN[worst]}",
    )
    pooled = [f"pooled: {counts}"] if exceeds(sum(counts.values()), trials, DELTA) else []
    return pooled + [
        f"{count} in {DESIGN[number]}"
        for number, count in counts.items()
        if exceeds(count, repetitions, DELTA, LEVEL / len(DESIGN))
    ]


def test_every_possible_pair_of_levels_meets_in_a_cell():
    met = set().union(*(pairs(vars(cell)) for cell in DESIGN))
    for a, b in ((a, b) for a in FACTORS for b in FACTORS if a < b):
        for x in FACTORS[a]:
            for y in FACTORS[b]:
                if possible({a: x, b: y}):
                    assert pairs({a: x, b: y}) <= met


@pytest.mark.parametrize("test", TESTS)
def test_certificates_hold_in_short(test, record_property):
    assert excesses(test, repetitions=60, largest=1000, record=record_property) == []


@pytest.mark.study
@pytest.mark.parametrize("test", TESTS)
def test_certificates_hold(test, record_property):
    assert excesses(test, repetitions=400, largest=5000, record=record_property) == []
