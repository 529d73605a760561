"""Calibration: candidates in, certificate out. Each step is a module of its own; this puts them together."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from surecut.arrays import Float64, Int64
from surecut.certificate import Certificate
from surecut.choices import Choices, resolve
from surecut.deciding import Decision, decide
from surecut.fitting import Fitted, depth_of, fit
from surecut.folding import Folds, fold
from surecut.lists import Lists, refuse_no_lists
from surecut.measures import AnyMeasure, OwnFunction, as_measure
from surecut.placement import mean_kept, sampled, thresholds_for_means
from surecut.planning import advise
from surecut.preparing import Prepared, prepare
from surecut.rules import Rule
from surecut.statements import ASSUMPTIONS, looks_in_words, state
from surecut.targets import MaxDrop, Target

DEFAULT_TARGET = MaxDrop(0.01)
_ADVICE_SHARES = (0.9, 0.75, 0.5)


def calibrate(
    data: Lists,
    *,
    measure: str | OwnFunction = "RR@10",
    target: Target = DEFAULT_TARGET,
    confidence: float = 0.9,
    rule: str | Rule = "softmax",
    test: str = "auto",
    tail: Literal["drop", "append"] = "drop",
    min_keep: int = 1,
    max_keep: int | None = None,
    depth: int | None = None,
    fusion: float | Literal["fit"] = 0.0,
    tune: Lists | None = None,
    tune_fraction: float = 0.2,
    fit_on_calibration: bool = False,
    procedure: Literal["walk", "paper", "est", "ert"] = "walk",
    grid: Literal["auto", "exact", "fixed"] = "auto",
    if_unreachable: Literal["abstain", "relax-target", "relax-confidence"] = "abstain",
) -> Certificate:
    """The smallest survivor sets for which the target holds with the confidence asked for.

    A target that cannot be certified is no error: the certificate says so by its status, and prunes nothing.

    >>> cert = calibrate(data, measure="RR@10", target=max_drop(0.01), confidence=0.9)  # doctest: +SKIP

    Args:
        data: Queries with the scores of both stages and, unless the target is an agreement, judgements: Candidates in
            memory, or a score table of any size (`scan_table`).
        measure (str or function): A name as ir-measures writes it, or `f(grades_in_final_order, missed_grades)`
            with values in [0, 1].
        target: What is claimed: made by `max_drop`, `at_least`, `agreement` or `risk`.
        confidence: The probability, over the draw of the calibration queries, with which the claim is to hold.
        rule: How a candidate's key is computed: a name, with parameters if wanted, as in `"softmax(scale=1)"`.
        test: The statistical test; auto is binomial where the loss is 0 or 1 by definition, else hedge.
        tail: Do pruned documents leave the list, or follow the reranked ones in the retriever's order?
        min_keep: Every query keeps at least so many (of those it has).
        max_keep: Every query keeps at most so many; part of the rule, so part of the claim.
        depth: Cut every retriever list here first; the claim is then relative to reranking that many.
        fusion: The retriever's weight in the final score, or "fit" to find the best one on tuning queries.
        tune: Other queries to fit and to place thresholds on; none of them may be in `data`.
        tune_fraction: Without `tune`, the share of the queries set aside where something is fitted.
        fit_on_calibration: Fit on the calibration queries themselves; the result is called uncertified.
        procedure: The certified walk, the paper's procedure as published, or the baselines EST and ERT.
        grid: Walk all breakpoints, or a grid that is fixed without the data; auto: the latter past 20,000 units.
        if_unreachable: Abstain, look for a weaker target of the full list, or describe the evidence.

    Returns:
        The certificate, whatever its status.

    Raises:
        InputError: The arguments or the data do not allow it: too few queries, no judgements, an unknown name.
    """
    refuse_no_lists(data)
    choices = resolve(
        measure=measure,
        target=target,
        confidence=confidence,
        rule=rule,
        test=test,
        tail=tail,
        min_keep=min_keep,
        max_keep=max_keep,
        depth=depth,
        fusion=fusion,
        tune_fraction=tune_fraction,
        fit_on_calibration=fit_on_calibration,
        procedure=procedure,
        grid=grid,
        if_unreachable=if_unreachable,
        grouped=data.groups is not None,
    )
    return calibrated(choices, data, tune, as_measure(measure)).certificate()


@dataclass(frozen=True, eq=False)
class Calibration:
    """A calibration with its parts still in hand."""

    choices: Choices
    folds: Folds
    fitted: Fitted
    prepared: Prepared
    decision: Decision

    @property
    def searched(self) -> bool:
        """Was a threshold looked for, or was the cut fixed in advance (`assess`)?"""
        return self.choices.procedure != "assess"

    def certificate(self) -> Certificate:
        """What was found, written down."""
        return certificate(self.choices, self.folds, self.fitted, self.prepared, self.decision)


def calibrated(choices: Choices, data: Lists, tune: Lists | None, declared: AnyMeasure) -> Calibration:
    """What these choices lead to; `declared` is the measure that a fusion weight is fitted for."""
    folds = fold(data.cut(choices.depth), choices, None if tune is None else tune.cut(choices.depth))
    fitted = fit(folds, choices, declared)
    prepared = prepare(folds.calibration, choices, fitted)
    return Calibration(choices, folds, fitted, prepared, decide(choices, fitted, prepared.losses, prepared.capped))


def certificate(choices: Choices, folds: Folds, fitted: Fitted, prepared: Prepared, decision: Decision) -> Certificate:
    """Write down what was found."""
    abstained = decision.status == "abstained"
    calibration = _calibrated_on(choices, prepared, decision)
    advice = _advice(choices, fitted, prepared) if abstained else None
    return Certificate(
        status=decision.status,
        statement=state(
            choices,
            decision.status,
            decision.threshold,
            decision.relaxed,
            decision.reasons,
            advice,
            calibration,
        ),
        measure=str(choices.measure),
        target=choices.target.to_json(),
        confidence=choices.confidence,
        rule=fitted.rule.to_json(),
        threshold=decision.threshold,
        tail=choices.tail,
        min_keep=choices.min_keep,
        max_keep=None if abstained else choices.max_keep,
        depth=depth_of(prepared.data),
        fusion={"beta": fitted.beta, "fitted": choices.fusion == "fit"},
        test=choices.test.name,
        procedure=choices.procedure,
        grid={"kind": "exact" if fitted.grid is None else "fixed", "starts": len(fitted.starts)},
        tune=folds.to_json(fitted.purposes),
        assumptions=[*ASSUMPTIONS, *((looks_in_words(choices.look),) if choices.look else ())],
        calibration=calibration,
        system=dict(prepared.data.system),
        relaxed=decision.relaxed,
        advice=advice,
    )


def _calibrated_on(choices: Choices, prepared: Prepared, decision: Decision) -> dict[str, Any]:
    """The queries that certify, in numbers: the whole lists, and what the threshold leaves of them."""
    data, curves, lengths, scale = prepared.data, prepared.curves, prepared.data.lengths, prepared.scale
    kept, measured = prepared.kept(decision.threshold, choices), curves.at(decision.threshold)
    empty = int(np.sum(lengths == 0))
    if decision.status == "abstained" and prepared.capped:  # nothing is certified, so nothing is pruned
        kept, measured = lengths, curves.full
    return {
        "queries": len(data),
        "units": len(curves),
        "candidates": int(lengths.sum()),
        "fingerprint": prepared.fingerprint,
        "shortest_list": int(lengths[lengths > 0].min(initial=int(lengths.max()))),
        "longest_list": int(lengths.max()),
        "scores": None if scale is None else scale.to_json(),
        "mean_candidates": float(lengths.mean()),
        "mean_full": float(curves.full.mean()),
        "mean_pruned": float(measured.mean()),
        "mean_loss_only": float(np.maximum(curves.full - measured, 0.0).mean()),
        "mean_kept": float(kept.mean()),
        "kept_quantiles": quantiles(kept),
        **({"empty_lists": empty} if empty else {}),
        **({"look": choices.look} if choices.look else {}),
    }


def quantiles(kept: Int64) -> dict[str, int]:
    """Latency lives in the tails: median, 95th and 99th percentile of the kept sizes."""
    points = np.quantile(kept, (0.5, 0.95, 0.99), method="inverted_cdf")
    return dict(zip(("p50", "p95", "p99"), map(int, points), strict=True))


def _advice(choices: Choices, fitted: Fitted, prepared: Prepared) -> dict[str, Any]:
    """How many queries would probably do: for a start of its own, or for a walk down to half of the list and beyond."""
    curves, some, limits = prepared.curves, sampled(prepared.data), (choices.min_keep, choices.max_keep)

    def point(threshold: float) -> tuple[float, Float64]:
        return mean_kept(some, fitted.rule, threshold, *limits), curves.at(threshold)

    if not choices.target.met_unpruned:
        paths = [[point(start)] for start in fitted.starts]
    else:
        mean = float(some.lengths.mean())
        walked, paths = [(mean, curves.start)], []
        for threshold in thresholds_for_means(some, fitted.rule, [share * mean for share in _ADVICE_SHARES], *limits):
            walked.append(point(threshold))
            paths.append(list(walked))
    found = advise(choices.target, curves.full, paths, choices.least_delta, len(curves))
    return {"queries": found.queries, "tightest": found.tightest, "mean_kept": found.mean_kept}
