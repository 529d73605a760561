"""What a pilot sample says about the labelled queries a target needs, at several sizes."""

import math
from dataclasses import dataclass
from typing import Any

from surecut.choices import resolve
from surecut.fitting import fit
from surecut.folding import fold
from surecut.lists import Lists
from surecut.measures import as_measure
from surecut.placement import mean_kept, sampled, thresholds_for_means
from surecut.planning import queries_needed
from surecut.preparing import prepare
from surecut.rules import Rule
from surecut.targets import Target

SHARES = (1.0, 0.9, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02)


@dataclass(frozen=True)
class Outlook:
    """One set size: what it measures in the pilot, and how many labelled queries would certify it (None: none would).

    Where groups of queries count as one, so many groups would, with so many queries in them.
    """

    mean_kept: float
    measured: float
    units: int | None
    queries: int | None


def outlook(
    data: Lists,
    *,
    target: Target,
    measure: Any = "RR@10",
    confidence: float = 0.9,
    power: float = 0.8,
    rule: str | Rule = "softmax",
    tail: str = "drop",
    depth: int | None = None,
) -> list[Outlook]:
    """Labelled queries needed to certify each of several mean sizes."""
    choices = resolve(
        measure=measure,
        target=target,
        confidence=confidence,
        rule=rule,
        tail=tail,
        depth=depth,
        grid="exact",
        grouped=data.groups is not None,
    )
    folds = fold(data.cut(choices.depth), choices, None)
    fitted = fit(folds, choices, as_measure(measure))
    prepared = prepare(folds.calibration, choices, fitted)
    some = sampled(prepared.data)
    rows: list[Outlook] = []
    queries_a_unit = len(prepared.data) / len(prepared.curves)
    before: int | None = 0  # a walk from the full list must pass every larger set first
    sizes = [share * float(some.lengths.mean()) for share in SHARES]
    for threshold in thresholds_for_means(some, fitted.rule, sizes, choices.min_keep):
        x = prepared.losses.at(threshold)
        needed = queries_needed(float(x.mean()), float(x.var()), target.level, choices.least_delta, power)
        if target.met_unpruned:
            needed = None if needed is None or before is None else max(needed, before)
            before = needed
        measured = float(prepared.curves.at(threshold).mean())
        kept = mean_kept(some, fitted.rule, threshold, choices.min_keep, choices.max_keep)
        rows.append(Outlook(kept, measured, needed, None if needed is None else math.ceil(needed * queries_a_unit)))
    return rows
