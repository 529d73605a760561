"""Simulated systems: seeded, shaped as asked, and behaving as their descriptions say."""

import numpy as np
import pytest

from surecut import InputError, simulate
from surecut.curves import full_measure, measure_curves
from surecut.measures import as_measure
from surecut.rules import as_rule
from surecut.simulation import SYSTEMS, System

RR = as_measure("RR@10")


def mean_by_rank(data, ranks):
    curves = measure_curves(data, as_rule("rank").keys(data), data.reranker, RR)
    return [curves.at(-float(rank)).mean() for rank in ranks]


@pytest.mark.parametrize("name", SYSTEMS.names())
def test_a_system_is_seeded_and_in_retriever_order(name):
    data = simulate(name, queries=50, depth=40, seed=3)
    again, other = (simulate(name, queries=50, depth=40, seed=seed) for seed in (3, 4))
    assert data.fingerprint() == again.fingerprint() != other.fingerprint()
    assert len(data) == 50
    np.testing.assert_array_equal(data.lengths, 40)
    scores = data.retriever.reshape(50, 40)
    assert np.all(scores[:, 1:] <= scores[:, :-1])
    assert data.judged.all()
    assert len(set(data.query_ids)) == 50


@pytest.mark.parametrize("name", SYSTEMS.names())
def test_every_query_has_a_relevant_document_somewhere(name):
    data = simulate(name, queries=200, depth=30, seed=1)
    found = np.add.reduceat(data.grades > 0, data.offsets[:-1])
    missed = np.diff(data.missed_offsets)
    assert np.all(found + missed >= 1)
    assert missed.sum() > 0
    assert data.grades.max() == SYSTEMS[name].grades


def test_ties_are_made_on_request():
    untied, tied = (simulate(queries=20, depth=50, seed=1, ties=ties).retriever for ties in (False, True))
    assert np.unique(untied).size == untied.size
    assert np.unique(tied).size < tied.size / 5
    np.testing.assert_allclose(tied * 10, np.round(tied * 10), atol=1e-4)


@pytest.mark.parametrize(("name", "first", "second"), [("dense-electra", 0.31, 0.41), ("bm25-bert", 0.19, 0.37)])
def test_systems_measure_what_they_are_described_as(name, first, second):
    data = simulate(name, queries=1500, depth=1000, seed=0)
    assert full_measure(data, data.retriever.astype(np.float64), RR).mean() == pytest.approx(first, abs=0.03)
    assert full_measure(data, data.reranker, RR).mean() == pytest.approx(second, abs=0.03)


def test_the_lured_reranker_is_better_on_a_short_list():
    shallow, deep = mean_by_rank(simulate("lured", queries=600, depth=500, seed=0), (20, 500))
    assert shallow > deep + 0.02
    shallow, deep = mean_by_rank(simulate("dense-electra", queries=600, depth=500, seed=0), (20, 500))
    assert deep > shallow


def test_a_system_of_ones_own_is_accepted_and_nonsense_is_not():
    perfect = System("perfect", "everything first", median_place=0.01, place_spread=0.01, strength=50.0)
    data = simulate(perfect, queries=40, depth=10)
    assert full_measure(data, data.reranker, RR).mean() == 1.0
    with pytest.raises(InputError, match="unknown simulated system"):
        simulate("dense-elektra")
    for options in ({"queries": 0}, {"depth": 0}):
        with pytest.raises(InputError, match="at least one"):
            simulate(**options)
