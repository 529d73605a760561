"""The fitted temperature against a general-purpose optimiser."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from surecut import Candidates, InputError
from surecut.temperature import fit_temperature
from tests.strategies import as_candidates, rows_of, tied_queries


def mean_cross_entropy(data, temperature):
    """Mean of -log softmax(s / T) at the first relevant candidate, over the queries that have one."""
    terms = []
    for query in range(len(data)):
        rows = rows_of(data, query)
        relevant = np.flatnonzero(data.grades[rows] > 0)
        if relevant.size:
            terms.append(-log_softmax(data.retriever[rows].astype(float) / temperature)[relevant[0]])
    return np.mean(terms)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), scale=st.sampled_from((0.05, 1.0, 30.0)), truth=st.sampled_from((0.3, 1.0, 3.0)))
def test_the_fit_minimises_the_cross_entropy(seed, scale, truth):
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal((200, 12))  # so many that they do separate
    odds = np.exp(scores / truth)
    chosen = (rng.random((200, 1)) < np.cumsum(odds / odds.sum(1, keepdims=True), axis=1)).argmax(axis=1)
    data = Candidates.from_arrays(scale * scores, relevance=np.arange(12) == chosen[:, None])
    fitted = fit_temperature(data)
    best = minimize_scalar(
        lambda log_t: mean_cross_entropy(data, np.exp(log_t)),
        bounds=(-9, 13),
        method="bounded",
        options={"xatol": 1e-6},
    )
    assert fitted == pytest.approx(np.exp(best.x), rel=1e-3)
    assert mean_cross_entropy(data, fitted) <= best.fun + 1e-9


def test_tied_scores_and_queries_without_relevant_documents_do_no_harm():
    data = as_candidates(tied_queries(20, count=60))
    relevant = [bool(np.any(data.grades[rows_of(data, query)] > 0)) for query in range(len(data))]
    assert not all(relevant)
    try:
        fitted = fit_temperature(data)
    except InputError:
        pytest.fail("the scores of this sample do say something about relevance")
    for other in (0.9 * fitted, 1.1 * fitted):
        assert mean_cross_entropy(data, fitted) < mean_cross_entropy(data, other)


def test_scores_that_separate_perfectly_or_not_at_all_are_an_error():
    scores = np.tile([3.0, 2.0, 1.0], (40, 1))
    perfect = np.tile([1, 0, 0], (40, 1))
    with pytest.raises(InputError, match="no optimum"):
        fit_temperature(Candidates.from_arrays(scores, relevance=perfect))
    with pytest.raises(InputError, match="no optimum"):
        fit_temperature(Candidates.from_arrays(scores, relevance=perfect[:, ::-1]))


def test_without_a_relevant_candidate_there_is_nothing_to_fit_on():
    data = Candidates.from_arrays(np.ones((40, 3)), relevance=np.zeros((40, 3)), missed=[[1]] * 40)
    with pytest.raises(InputError, match="no query has a relevant candidate"):
        fit_temperature(data)
