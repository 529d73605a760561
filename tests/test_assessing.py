"""Claims for a cut that is already in use: the cut is fixed, the claim is the strongest that passes."""

import numpy as np
import pytest

from surecut import Candidates, InputError, agreement, assess, at_least, max_drop, simulate
from surecut.bounds import TESTS
from surecut.curves import measure_curves
from surecut.measures import as_measure, overlap
from surecut.preregistered import in_test_order, order_hashes
from surecut.rules import as_rule

DATA = simulate("dense-electra", queries=400, depth=30, seed=1, ties=True)

MAKERS = {
    "max-drop": max_drop,
    "max-drop-abs": lambda value: max_drop(value, absolute=True),
    "at-least": at_least,
    "agreement": agreement,
}


def strongest_by_definition(claim, keep, delta=0.1):
    """Walk the ladder of claims from the weakest until one is not rejected."""
    measure = overlap(10) if claim == "agreement" else as_measure("RR@10")
    curves = measure_curves(DATA, as_rule("rank").keys(DATA), DATA.reranker, measure)
    curves = in_test_order(curves, DATA, order_hashes(DATA.units))
    rising = claim in ("at-least", "agreement")
    reached = None
    for thousandths in range(1, 1000) if rising else range(999, 0, -1):
        target = MAKERS[claim](thousandths / 1000)
        x = target.variable(curves.at(-keep), curves.full)
        if not TESTS["hedge"].rejects(x, target.level, delta):
            break
        reached = thousandths / 1000
    return reached


@pytest.mark.parametrize("claim", list(MAKERS))
@pytest.mark.parametrize("keep", [3, 15, 29])
def test_the_strongest_claim_for_a_fixed_cut(claim, keep):
    certificate = assess(DATA, keep=keep, claim=claim)
    assert certificate.status == "certified"
    assert certificate.target["value"] == strongest_by_definition(claim, keep)
    assert certificate.rule["name"] == "rank"
    assert certificate.mean_kept == keep
    assert certificate.procedure == "assess"
    assert certificate.keep(DATA.retriever[:30]) == keep


def test_a_larger_cut_never_claims_less_agreement():
    values = [assess(DATA, keep=keep, claim="agreement").target["value"] for keep in (10, 15, 20, 28)]
    assert values == sorted(values)
    assert values[0] < values[-1]


def test_a_budget_is_placed_on_other_queries_and_met_on_these():
    certificate = assess(DATA, budget=10)
    assert certificate.tune["source"] == "aside"
    assert certificate.tune["queries"] + certificate.calibration["queries"] == 400
    assert certificate.mean_kept == pytest.approx(10, rel=0.1)
    tuning = simulate("dense-electra", queries=100, depth=30, seed=4)
    renamed = Candidates.from_arrays(tuning.retriever.reshape(100, 30), query_ids=[f"t{i}" for i in range(100)])
    placed = assess(DATA, budget=10, tune=renamed)
    assert placed.tune == {"source": "table", "queries": 100, "for": ["threshold"]}
    assert placed.calibration["queries"] == 400
    assert placed.keep(renamed.retriever, offsets=renamed.offsets).mean() <= 10


def test_a_budget_uses_unjudged_queries_where_there_are_enough():
    judged = np.arange(400) < 350
    relevance = {q: {"d": 1} for q, known in zip(DATA.query_ids, judged, strict=True) if known}
    scores = DATA.retriever.reshape(400, 30), DATA.reranker.reshape(400, 30)
    docs = [f"d{i}" if i else "d" for i in range(30)]
    runs = [
        {q: dict(zip(docs, map(float, row), strict=True)) for q, row in zip(DATA.query_ids, column, strict=True)}
        for column in scores
    ]
    certificate = assess(Candidates.from_dicts(*runs, relevance), budget=10)
    assert certificate.tune == {"source": "unjudged", "queries": 50, "for": ["threshold"]}
    assert certificate.calibration["queries"] == 350


def test_tuning_queries_may_not_also_be_assessed():
    with pytest.raises(InputError, match="tuning"):
        assess(DATA, budget=10, tune=DATA)


def test_a_cut_that_no_claim_survives_is_abstained_from():
    hopeless = Candidates.from_arrays(
        np.tile([2.0, 1.0], (40, 1)), np.tile([1.0, 2.0], (40, 1)), np.tile([0, 1], (40, 1))
    )
    certificate = assess(hopeless, keep=1, claim="at-least")
    assert certificate.status == "abstained"
    assert certificate.threshold == -np.inf
    assert certificate.mean_kept == 2


def test_the_normal_approximation_is_not_certified_here_either():
    assert assess(DATA, keep=10, test="clt").status == "uncertified"


def test_a_binary_measure_is_assessed_with_the_binomial_test():
    assert assess(DATA, keep=10, claim="at-least", measure="Success@10").test == "binomial"
    assert assess(DATA, keep=10, claim="max-drop", measure="Success@10").test == "hedge"


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"keep": 5, "budget": 5},
        {"keep": 0},
        {"budget": 0.5},
        {"keep": 5, "claim": "best"},
        {"budget": 5, "rule": "softmax-fitted"},
        {"keep": 5, "confidence": 1.5},
    ],
)
def test_a_cut_that_makes_no_sense_is_refused(options):
    with pytest.raises(InputError):
        assess(DATA, **options)


def test_a_depth_is_the_same_as_data_cut_there_first():
    by_depth = assess(DATA, keep=5, depth=12)
    assert by_depth.to_json() == assess(DATA.cut(12), keep=5).to_json()


def test_a_cut_that_can_claim_nothing_abstains_on_the_weakest_claim_there_is():
    few = simulate("dense-electra", 30, 40, seed=2)
    certificate = assess(few, keep=1, claim="at-least", confidence=0.999999999999)
    assert certificate.status == "abstained"
    assert certificate.target["value"] == 0.001
    assert certificate.mean_kept == 40
