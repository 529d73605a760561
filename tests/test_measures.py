"""Measures: their names, and their values against ir-measures on lists full of ties."""

import numpy as np
import pytest

from surecut import InputError
from surecut.curves import full_measure, measure_curves
from surecut.measures import Measure, OwnMeasure, as_measure, overlap
from surecut.rules import as_rule
from tests.strategies import (
    KERNEL_MEASURES,
    RULE_TEXTS,
    as_candidates,
    final_list,
    ir_measures_values,
    kept_by_definition,
    measure_text,
    missed_of,
    rows_of,
    tied_queries,
)


def final_lists(data, keys, threshold, tail, min_keep=1, max_keep=None):
    """(grades in final order, missed grades of everything else) of every query."""
    lists = []
    for query in range(len(data)):
        rows = rows_of(data, query)
        kept = kept_by_definition(keys[rows], threshold, min_keep, max_keep)
        places = final_list(data.reranker[rows], kept, tail)
        grades = data.grades[rows]
        pruned = [int(grades[place]) for place in range(grades.size) if place not in set(places)]
        lists.append(([int(grades[place]) for place in places], missed_of(data, query) + pruned))
    return lists


@pytest.mark.parametrize("tail", ["drop", "append"])
@pytest.mark.parametrize("seed", range(4))
def test_every_query_agrees_with_ir_measures_at_random_thresholds(seed, tail):
    rng = np.random.default_rng(seed)
    data = as_candidates(tied_queries(seed, count=30, longest=14))
    keys = as_rule(RULE_TEXTS[seed]).keys(data)
    for threshold in (-np.inf, float(rng.choice(keys)), float(rng.uniform(keys.min(), keys.max())), np.inf):
        lists = final_lists(data, keys, threshold, tail)
        expected = ir_measures_values(lists, KERNEL_MEASURES)
        for measure in KERNEL_MEASURES:
            curves = measure_curves(data, keys, data.reranker, as_measure(measure_text(*measure)), tail)
            np.testing.assert_allclose(curves.at(threshold), expected[measure], rtol=0, atol=1e-9, err_msg=str(measure))


def test_the_unpruned_measure_agrees_with_ir_measures():
    data = as_candidates(tied_queries(11, count=40, longest=14))
    lists = final_lists(data, np.zeros(data.retriever.size), -np.inf, "drop")
    expected = ir_measures_values(lists, KERNEL_MEASURES)
    for measure in KERNEL_MEASURES:
        own = full_measure(data, data.reranker, as_measure(measure_text(*measure)))
        np.testing.assert_allclose(own, expected[measure], rtol=0, atol=1e-9, err_msg=str(measure))


@pytest.mark.parametrize("measure", KERNEL_MEASURES, ids=lambda measure: measure_text(*measure))
def test_a_name_is_read_and_printed_back(measure):
    text = measure_text(*measure)
    parsed = as_measure(text)
    assert str(parsed) == text
    assert (parsed.family.name, parsed.cutoff, parsed.rel) == measure


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("RRR@10", "unknown measure"),
        ("ndgc@10", "nDCG"),
        ("RR@0", "cutoff"),
        ("RR@-3", "RR"),
        ("RR@ten", "RR"),
        ("P", "P@10"),
        ("Success", "Success@10"),
        ("R(rel=0)@10", "rel"),
        ("nDCG(dcg='exp-log2')@10", "dcg"),
        ("ERR@10", "unknown measure"),
    ],
)
def test_a_name_that_cannot_be_read_is_refused_with_a_hint(text, word):
    with pytest.raises(InputError, match=word):
        as_measure(text)


def test_only_measures_that_are_zero_or_one_by_definition_are_binary():
    binary = {text for text in (measure_text(*measure) for measure in KERNEL_MEASURES) if as_measure(text).binary}
    assert binary == {
        *("RR@1", "RR(rel=2)@1", "P@1", "P(rel=2)@1"),
        *(f"Success{rel}@{k}" for rel in ("", "(rel=2)") for k in (1, 3, 10)),
    }
    assert overlap(1).binary
    assert not overlap(2).binary


def test_a_function_becomes_a_measure_of_its_own_and_is_never_binary():
    def first_grade(grades, missed):
        return float(grades[0] > 0) if grades.size else 0.0

    measure = as_measure(first_grade)
    assert isinstance(measure, OwnMeasure)
    assert str(measure) == "first_grade"
    assert not measure.binary
    assert as_measure(measure) is measure


def test_only_the_overlap_with_the_unpruned_list_needs_no_judgements():
    assert not overlap(5).needs_judgements
    assert isinstance(overlap(5), Measure)
    assert as_measure("RR@10").needs_judgements
