"""Evidence fusion: the formula, and the weight that fits best."""

import numpy as np
import pytest

from surecut import Candidates, InputError
from surecut.fusion import GRID, check_fusion, final_scores, fit_fusion
from surecut.measures import as_measure
from tests.strategies import as_candidates, final_list, missed_of, rows_of, tied_queries, value_by_definition


def mean_measure(data, beta, measure):
    """Sort by beta * retriever + (1 - beta) * reranker and measure, query by query."""
    values = []
    for query in range(len(data)):
        rows = rows_of(data, query)
        final = beta * data.retriever[rows].astype(float) + (1 - beta) * data.reranker[rows]
        grades = [int(data.grades[rows][place]) for place in final_list(final, final.size, "drop")]
        values.append(value_by_definition(*measure, grades, grades + missed_of(data, query)))
    return np.mean(values)


def complementary(seed, queries=60, depth=8):
    """Both stages know half of what makes a document relevant, on very different scales."""
    rng = np.random.default_rng(seed)
    first, second = rng.standard_normal((2, queries, depth))
    relevant = first + second == (first + second).max(axis=1, keepdims=True)
    return Candidates.from_arrays(20 + 5 * first, 0.01 * second, relevant.astype(int))


@pytest.mark.parametrize("beta", [0.0, 0.3, 1.0])
def test_final_scores_follow_the_formula(beta):
    data = as_candidates(tied_queries(1))
    expected = beta * data.retriever.astype(np.float64) + (1 - beta) * data.reranker
    np.testing.assert_allclose(final_scores(data, beta), expected, rtol=1e-15)


@pytest.mark.parametrize(("seed", "measure"), [(0, ("RR", 10, 1)), (1, ("nDCG", 5, 1)), (2, ("AP", None, 2))])
def test_the_fit_is_the_best_of_the_grid_and_the_smallest_of_the_best(seed, measure):
    data = as_candidates(tied_queries(seed, count=40))
    name, cutoff, rel = measure
    text = name + (f"(rel={rel})" if rel > 1 else "") + (f"@{cutoff}" if cutoff else "")
    means = [mean_measure(data, beta, measure) for beta in GRID]
    best = GRID[np.flatnonzero(np.isclose(means, max(means), rtol=0, atol=1e-12))[0]]
    assert fit_fusion(data, as_measure(text)) == best


def test_the_fit_finds_a_weight_inside_when_both_scores_matter():
    data = complementary(4)
    beta = fit_fusion(data, as_measure("RR@10"))
    assert beta == pytest.approx(0.002, rel=0.5)  # 5 beta = 0.01 (1 - beta)
    fitted = mean_measure(data, beta, ("RR", 10, 1))
    assert fitted > 0.95
    assert fitted > max(mean_measure(data, end, ("RR", 10, 1)) for end in (0.0, 1.0)) + 0.1


def test_the_grid_is_even_in_log_odds_between_both_ends():
    assert GRID.size == 103
    assert (GRID[0], GRID[-1]) == (0.0, 1.0)
    inner = GRID[1:-1]
    np.testing.assert_allclose(np.diff(np.log(inner / (1 - inner))), 0.2, rtol=1e-9)


def test_without_a_reranker_there_is_nothing_to_fuse():
    with pytest.raises(InputError, match="no reranker scores"):
        final_scores(Candidates.from_arrays([[2.0, 1.0]]), 0.5)


@pytest.mark.parametrize("fusion", [-0.1, 1.1, float("nan"), "best"])
def test_a_weight_out_of_range_is_refused(fusion):
    with pytest.raises(InputError, match="fusion"):
        check_fusion(fusion)


def test_without_judgements_there_is_nothing_to_fit_on():
    rng = np.random.default_rng(0)
    unjudged = Candidates.from_arrays(rng.random((40, 5)), rng.random((40, 5)))
    with pytest.raises(InputError, match="judge"):
        fit_fusion(unjudged, as_measure("RR@10"))
