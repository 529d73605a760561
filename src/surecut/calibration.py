"""Calibration: candidates in, certificate out. Each step is a module of its own; this puts them together."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from surecut.arrays import Array, Float64, Int64
from surecut.baselines import empirical_threshold, published_procedure
from surecut.candidates import Candidates, hashed
from surecut.certificate import Certificate
from surecut.choices import Choices, resolve
from surecut.curves import Curves, measure_curves
from surecut.errors import InputError
from surecut.folding import Folds, fold
from surecut.fusion import final_scores, fit_fusion
from surecut.kernels.keys import kept_at
from surecut.measures import NO_CUTOFF, AnyMeasure, OwnFunction, as_measure
from surecut.placement import placed_grid, placed_starts, threshold_for_mean
from surecut.planning import advise
from surecut.relaxing import relaxed_confidence, relaxed_level
from surecut.rules import DELTA_SHARES, KEEP_EVERYTHING, Rule
from surecut.scale import Scale
from surecut.statements import ASSUMPTIONS, looks_in_words, state
from surecut.targets import MaxDrop, Target
from surecut.temperature import fit_temperature
from surecut.walk import Steps, fallback

DEFAULT_TARGET = MaxDrop(0.01)
_ORDER_SALT = b"surecut order "
_ADVICE_SHARES = (0.9, 0.75, 0.5)


def calibrate(
    data: Candidates,
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
    tune: Candidates | None = None,
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
        data: Queries with the scores of both stages and, unless the target is an agreement, judgements.
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
    if not isinstance(data, Candidates):
        raise InputError(
            f"calibrate needs Candidates, not {type(data).__name__}: see Candidates.from_arrays and others"
        )
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
    return calibrated(choices, data, tune, as_measure(measure))


def calibrated(choices: Choices, data: Candidates, tune: Candidates | None, declared: AnyMeasure) -> Certificate:
    """The certificate that these choices lead to; `declared` is the measure that a fusion weight is fitted for."""
    folds = fold(data.cut(choices.depth), choices, None if tune is None else tune.cut(choices.depth))
    fitted = fit(folds, choices, declared)
    prepared = prepare(folds.calibration, choices, fitted)
    return certificate(choices, folds, fitted, prepared, decide(choices, fitted, prepared))


@dataclass(frozen=True)
class Fitted:
    """What other queries had a say in: the rule's temperature, the fusion weight, starts and grid."""

    rule: Rule
    beta: float
    starts: tuple[float, ...]
    grid: Float64 | None
    purposes: list[str]


@dataclass(frozen=True, eq=False)
class Prepared:
    """The calibration queries, reduced to what the walk needs; units in the pre-registered order."""

    data: Candidates
    keys: Float64
    curves: Curves  # of the measure
    losses: Curves  # of X
    capped: bool  # does max_keep cut any list?

    def kept(self, threshold: float, choices: Choices) -> Int64:
        longest = NO_CUTOFF if choices.max_keep is None else choices.max_keep
        kept: Int64 = kept_at(self.keys, self.data.offsets, threshold, choices.min_keep, longest)
        return kept


@dataclass(frozen=True)
class Decision:
    """How it ended: the threshold, the status, and what was relaxed or corrected on the way."""

    threshold: float
    status: str
    relaxed: dict[str, Any] | None = None
    reasons: tuple[str, ...] = ()


def fit(folds: Folds, choices: Choices, declared: Any) -> Fitted:
    """Fit and place whatever needs it, on the queries set apart for that."""
    rule, beta, purposes = choices.rule, choices.fusion, []
    if rule.fits_temperature and folds.tuning is not None:
        rule = rule.with_parameters(
            {"temperature": fit_temperature(_canonical(folds.tuning), getattr(choices.measure, "rel", 1))}
        )
        purposes.append("temperature")
    if isinstance(beta, str):
        assert folds.tuning is not None
        beta = fit_fusion(_canonical(folds.tuning), declared)
        purposes.append("fusion weight")
    starts: tuple[float, ...] = (KEEP_EVERYTHING,)
    if choices.several_starts:
        if rule.starts is not None:  # the depth is a setting of the retriever, not a finding about the queries
            starts += rule.starts(_depth(folds.calibration))
        elif folds.tuning is not None:
            starts += placed_starts(rule, folds.tuning)
            purposes.append("starts")
    grid = None
    if folds.fixed_grid and choices.procedure == "walk":
        if rule.grid_range is not None:
            grid = rule.grid()
        elif folds.tuning is not None:
            grid = placed_grid(rule, folds.tuning)
            purposes.append("grid")
    return Fitted(rule, beta, starts, grid, purposes)


def prepare(data: Candidates, choices: Choices, fitted: Fitted) -> Prepared:
    """Keys, curves and losses of the calibration queries."""
    keys = fitted.rule.keys(data)
    curves = measure_curves(
        data,
        keys,
        final_scores(data, fitted.beta),
        choices.measure,
        choices.tail,
        choices.min_keep,
        choices.max_keep,
    )
    curves = in_test_order(curves, data)
    return Prepared(data, keys, curves, losses_of(choices, curves), cuts_any(choices, data.lengths))


def cuts_any(choices: Choices, lengths: Int64) -> bool:
    """Does max_keep cut any of these lists? Then "keep everything" is a claim that has to be tested."""
    return choices.max_keep is not None and bool(lengths.max() > choices.max_keep)


def losses_of(choices: Choices, curves: Curves) -> Curves:
    """The curves of X, which must be as binary as was declared."""
    losses = choices.target.losses(curves)
    if choices.test.needs_binary and not all(np.isin(x, (0.0, 1.0)).all() for x in (losses.start, losses.values)):
        raise InputError("a loss that was declared binary has a value other than 0 and 1")
    return losses


def in_test_order(curves: Curves, data: Candidates) -> Curves:
    """One curve a unit, in the order of a hash of its id: fixed before anything is known of the losses."""
    if data.groups is None:
        return curves.take(preregistered_order(data.query_ids))
    names, unit = np.unique(data.groups, return_inverse=True)
    place = np.empty(names.size, dtype=np.int64)
    place[preregistered_order(names)] = np.arange(names.size)
    by_id = np.argsort(data.query_ids, kind="stable")
    return curves.take(by_id).merged(place[unit[by_id]])


def preregistered_order(ids: Array) -> Int64:
    """Positions in the pre-registered order."""
    return np.argsort(hashed(ids, _ORDER_SALT), kind="stable")


def decide(choices: Choices, fitted: Fitted, prepared: Prepared) -> Decision:
    """Run the procedure that was asked for."""
    losses, level = prepared.losses, choices.target.level
    if choices.procedure in ("est", "ert"):
        reason = f"{choices.procedure.upper()} meets the target on the calibration queries only"
        return Decision(empirical_threshold(losses, level), "uncertified", reasons=(reason,))
    if choices.procedure == "paper":
        return _published(choices, losses)
    decision = _walked(choices, fitted, prepared)
    reasons = []
    if not choices.test.certified:
        reasons.append(f"the {choices.test.name} test is asymptotic")
    if choices.fit_on_calibration and choices.fits_something:
        reasons.append("something was fitted on the calibration queries")
    if reasons and decision.status != "abstained":
        return Decision(decision.threshold, "uncertified", decision.relaxed, tuple(reasons))
    return decision


def _published(choices: Choices, losses: Curves) -> Decision:
    found = published_procedure(losses, choices.target.level, choices.delta)
    relaxed = None
    if not found.reached:
        relaxed = {
            "published_level": found.corrected_level,
            "published_confidence": None if found.corrected_delta is None else 1 - found.corrected_delta,
        }
    reason = "the published procedure, as published: its guarantee does not hold"
    return Decision(found.threshold, "uncertified", relaxed, (reason,))


def _walked(choices: Choices, fitted: Fitted, prepared: Prepared) -> Decision:
    losses, target, test = prepared.losses, choices.target, choices.test
    steps = Steps.over_breakpoints(losses) if fitted.grid is None else Steps.over_grid(losses, fitted.grid)
    start_is_true = target.met_unpruned and not prepared.capped
    relaxed, head_failed = None, False
    if choices.if_unreachable == "relax-target" and not start_is_true:
        share = DELTA_SHARES[len(fitted.starts)][0]
        reached = relaxed_level(test, losses.start, target.level, choices.delta * share)
        head_failed = reached != target.level  # the ladder heads the first chain, and ended before the target
        relaxed = None if reached is None or not head_failed else {"value": target.value_at(reached)}
    threshold = fallback(losses, steps, target.level, test, fitted.starts, choices.delta, start_is_true, head_failed)
    if threshold is not None and not (threshold == KEEP_EVERYTHING and start_is_true):
        return Decision(threshold, "certified")
    if relaxed is not None:
        return Decision(KEEP_EVERYTHING, "relaxed-target", relaxed)
    if choices.if_unreachable == "relax-confidence" and not start_is_true:
        found = relaxed_confidence(test, losses.start, target.level)
        if found is not None:
            return Decision(KEEP_EVERYTHING, "relaxed-confidence", found)
    return Decision(KEEP_EVERYTHING, "abstained")


def certificate(choices: Choices, folds: Folds, fitted: Fitted, prepared: Prepared, decision: Decision) -> Certificate:
    """Write down what was found."""
    data, curves = prepared.data, prepared.curves
    kept = prepared.kept(decision.threshold, choices)
    measured = curves.at(decision.threshold)
    abstained = decision.status == "abstained"
    scale, empty = Scale.of(data), int(np.sum(data.lengths == 0))
    if abstained and prepared.capped:  # nothing is certified, so nothing is pruned
        kept, measured = data.lengths, curves.full
    calibration = {
        "queries": len(data),
        "units": len(curves),
        "candidates": int(data.retriever.size),
        "fingerprint": data.fingerprint(),
        "shortest_list": int(data.lengths[data.lengths > 0].min(initial=int(data.lengths.max()))),
        "longest_list": int(data.lengths.max()),
        "scores": None if scale is None else scale.to_json(),
        "mean_candidates": float(data.lengths.mean()),
        "mean_full": float(curves.full.mean()),
        "mean_pruned": float(measured.mean()),
        "mean_loss_only": float(np.maximum(curves.full - measured, 0.0).mean()),
        "mean_kept": float(kept.mean()),
        "kept_quantiles": quantiles(kept),
        **({"empty_lists": empty} if empty else {}),
        **({"look": choices.look} if choices.look else {}),
    }
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
        depth=_depth(data),
        fusion={"beta": fitted.beta, "fitted": choices.fusion == "fit"},
        test=choices.test.name,
        procedure=choices.procedure,
        grid={"kind": "exact" if fitted.grid is None else "fixed", "starts": len(fitted.starts)},
        tune=folds.to_json(fitted.purposes),
        assumptions=[*ASSUMPTIONS, *((looks_in_words(choices.look),) if choices.look else ())],
        calibration=calibration,
        system=dict(data.system),
        relaxed=decision.relaxed,
        advice=advice,
    )


def _depth(data: Candidates) -> int:
    """What the retriever was asked for, as far as that is known."""
    return max(data.depth or 0, int(data.lengths.max()))


def quantiles(kept: Int64) -> dict[str, int]:
    """Latency lives in the tails: median, 95th and 99th percentile of the kept sizes."""
    points = np.quantile(kept, (0.5, 0.95, 0.99), method="inverted_cdf")
    return dict(zip(("p50", "p95", "p99"), map(int, points), strict=True))


def _advice(choices: Choices, fitted: Fitted, prepared: Prepared) -> dict[str, Any]:
    """How many queries would probably do: for a start of its own, or for a walk down to half of the list and beyond."""
    curves, mean = prepared.curves, prepared.data.lengths.mean()
    if not choices.target.met_unpruned:
        paths = [[(float(prepared.kept(start, choices).mean()), curves.at(start))] for start in fitted.starts]
    else:
        walked, paths = [(float(mean), curves.start)], []
        for share in _ADVICE_SHARES:
            threshold = threshold_for_mean(
                prepared.keys, prepared.data.offsets, share * mean, choices.min_keep, choices.max_keep
            )
            walked.append((float(prepared.kept(threshold, choices).mean()), curves.at(threshold)))
            paths.append(list(walked))
    found = advise(choices.target, curves.full, paths, choices.least_delta, len(curves))
    return {"queries": found.queries, "tightest": found.tightest, "mean_kept": found.mean_kept}


def _canonical(data: Candidates) -> Candidates:
    """Queries by id, so that sums do not depend on the order of the input."""
    return data.take(np.argsort(data.query_ids, kind="stable"))
