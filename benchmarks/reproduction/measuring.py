"""What a two-stage system does: the three numbers that simulated systems are tuned to, and a few beside them."""

from dataclasses import dataclass

import numpy as np

from surecut.baselines import empirical_threshold
from surecut.candidates import Candidates, counts_by_query
from surecut.curves import Curves, full_measure, measure_curves
from surecut.fusion import final_scores
from surecut.measures import as_measure
from surecut.reducing import CountKept
from surecut.rules import RULES, Rule
from surecut.targets import at_least
from surecut.temperature import fit_temperature

RR = as_measure("RR@10")


@dataclass(frozen=True)
class Behaviour:
    """A system on all of its queries."""

    first_stage: float  # mean RR@10
    reranked: float
    est_size: float  # mean candidates that EST keeps for the target
    ert_size: float
    recall: float  # share of queries with something relevant among the candidates


def behaviour(data: Candidates, target: float) -> Behaviour:
    """Both stages, and how many candidates the target takes when it is only to be met on these very queries."""
    fitted = fitted_rule(data)
    return Behaviour(
        first_stage=mean_measure(data, 1.0),
        reranked=mean_measure(data, 0.0),
        est_size=_empirical_size(data, fitted, target),
        ert_size=_empirical_size(data, RULES["rank"], target),
        recall=float(np.mean(counts_by_query(data.grades > 0, data.offsets) > 0)),
    )


def mean_measure(data: Candidates, beta: float) -> float:
    """RR@10 with everything reranked, when the retriever's score has this weight (1: its own order)."""
    return float(full_measure(data, final_scores(data, beta), RR).mean())


def fitted_rule(data: Candidates) -> Rule:
    """The paper's key: softmax with the temperature that suits these queries."""
    return RULES["softmax-fitted"].with_parameters({"temperature": fit_temperature(data)})


def curves_of(data: Candidates, rule: Rule, beta: float = 0.0) -> Curves:
    """RR@10 of every query at every threshold."""
    return measure_curves(data, rule.keys(data), final_scores(data, beta), RR)


def mean_kept(rule: Rule, data: Candidates, threshold: float) -> float:
    """Candidates a query keeps, on average."""
    return float(CountKept(rule, threshold, min_keep=1, max_keep=None)(data).mean())


def _empirical_size(data: Candidates, rule: Rule, target: float) -> float:
    claim = at_least(target)
    losses = claim.losses(curves_of(data, rule))
    return mean_kept(rule, data, empirical_threshold(losses, claim.level))
