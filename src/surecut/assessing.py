"""Claims for cuts people already use: a fixed top k, or the threshold that fits a mean budget.

No threshold is searched for on the calibration labels: the cut is fixed first, then the strongest claim
about it is found.
"""

from dataclasses import replace
from typing import Literal

import numpy as np

from surecut.calibration import certificate
from surecut.certificate import Certificate
from surecut.choices import Choices, resolve
from surecut.claims import loosest, strongest_claim
from surecut.deciding import Decision
from surecut.errors import InputError
from surecut.fitting import Fitted
from surecut.folding import Folds, enough, judged_only, place_elsewhere, refuse_overlap
from surecut.lists import Lists, refuse_no_lists
from surecut.measures import NO_CUTOFF, OwnFunction
from surecut.placement import mean_kept, thresholds_for_means
from surecut.preparing import prepare
from surecut.registry import unknown
from surecut.rules import KEEP_EVERYTHING, Rule
from surecut.targets import CLAIMS

Claim = Literal["max-drop", "max-drop-abs", "at-least", "agreement"]


class NothingPruned(InputError):
    """There is nothing to assess about a cut that cuts nothing."""


def assess(
    data: Lists,
    *,
    keep: int | None = None,
    budget: float | None = None,
    claim: Claim = "max-drop",
    measure: str | OwnFunction = "RR@10",
    confidence: float = 0.9,
    rule: str | Rule = "softmax",
    test: str = "auto",
    tail: Literal["drop", "append"] = "drop",
    min_keep: int = 1,
    depth: int | None = None,
    fusion: float = 0.0,
    tune: Lists | None = None,
    aside: float = 0.2,
) -> Certificate:
    """The strongest claim for keeping the top `keep`, or for a mean `budget` of survivors.

    A budget's threshold is placed on other queries: `tune`, the unjudged ones, or a share set `aside`.

    >>> assess(data, keep=50).statement  # doctest: +SKIP

    Args:
        data: Queries with the scores of both stages and, unless the claim is an agreement, judgements.
        keep: A fixed cut, the same for every query.
        budget: A mean over queries, by the rule: more for hard ones, fewer for easy ones.
        claim: The kind of claim whose strongest value is looked for.
        measure (str or function): As in `calibrate`, and so are `confidence`, `rule`, `test`, `tail`, `min_keep` and
            `depth`.
        fusion: The retriever's weight in the final score; nothing is fitted here.
        tune: Other queries to place the threshold of a budget on.
        aside: Without them, and without unjudged queries, the share of the queries set aside for that.
    """
    refuse_no_lists(data)
    size = size_asked(keep, budget)
    if claim not in CLAIMS:
        raise InputError(unknown("claim", claim, list(CLAIMS)))
    choices = resolve(
        measure=measure,
        target=CLAIMS[claim],
        confidence=confidence,
        rule="rank" if keep is not None else rule,
        test=test,
        tail=tail,
        min_keep=min_keep,
        depth=depth,
        fusion=fusion,
        tune_fraction=aside,
        grid="exact",
        grouped=data.groups is not None,
    )
    if choices.fits_something:
        raise InputError("assess fits nothing: give a fusion weight and, for softmax-fitted, its temperature")
    folds = divide(data.cut(choices.depth), choices, None if tune is None else tune.cut(choices.depth))
    return claimed(choices, folds, threshold_of(size, choices, folds))


def size_asked(keep: int | None, budget: float | None) -> float:
    """The one size that was asked for."""
    if (keep is None) == (budget is None):
        raise InputError("give a fixed cut (keep) or a mean budget, one of them and not both")
    size = keep if keep is not None else budget
    if size is None or not 1 <= size < NO_CUTOFF or (keep is not None and int(keep) != keep):
        raise InputError(f"a cut or a budget must be at least 1, not {size}")
    return size


def divide(data: Lists, choices: Choices, tune: Lists | None) -> Folds:
    """The queries to certify on and, unless the cut is the same for every query, others to place it on."""
    usable = judged_only(data) if choices.measure.needs_judgements else enough(data)
    if choices.rule.name == "rank":
        return Folds(usable)
    if tune is not None:
        refuse_overlap(data, tune)
        return Folds(usable, tune, "table")
    return place_elsewhere(data, usable, choices, choices.tune_fraction)


def threshold_of(size: float, choices: Choices, folds: Folds) -> float:
    """Where to cut for a top k, or for a mean budget on the queries set apart."""
    other = folds.tuning
    if other is None:
        return -float(int(size))
    return thresholds_for_means(other, choices.rule, [size], choices.min_keep)[0]


def size_of(threshold: float, choices: Choices, folds: Folds) -> float:
    """The top k, or the least mean budget, whose threshold it is, if it is one's at all."""
    other = folds.tuning
    if other is None:
        return max(1.0, -threshold)
    return max(1.0, mean_kept(other, choices.rule, threshold, choices.min_keep, None))


def claimed(choices: Choices, folds: Folds, threshold: float) -> Certificate:
    """The strongest claim about a cut."""
    fitted = Fitted(choices.rule, float(choices.fusion), (threshold,), None, ["threshold"])
    prepared = prepare(folds.calibration, choices, fitted)
    if np.array_equal(prepared.kept(threshold, choices), prepared.data.lengths):
        raise NothingPruned("this cut keeps every candidate: nothing is pruned, and nothing can be lost")
    measured = prepared.curves.at(threshold)
    value = strongest_claim(choices.target, measured, prepared.curves.full, choices.test, choices.delta)
    target = loosest(choices.target) if value is None else choices.target.with_value(value)
    status = "certified" if value is not None else "abstained"
    if status == "certified" and not choices.test.certified:
        status = "uncertified"
    reasons = () if choices.test.certified else (f"the {choices.test.name} test is asymptotic",)
    decision = Decision(threshold if value is not None else KEEP_EVERYTHING, status, reasons=reasons)
    return certificate(replace(choices, procedure="assess", target=target), folds, fitted, prepared, decision)
