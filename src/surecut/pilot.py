"""What a pilot sample says about the labelled queries a target needs, at several sizes."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from surecut.calibration import fit, prepare
from surecut.candidates import Candidates
from surecut.choices import resolve
from surecut.folding import fold
from surecut.measures import as_measure
from surecut.placement import threshold_for_mean
from surecut.planning import queries_needed
from surecut.targets import Target

SHARES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0)


@dataclass(frozen=True)
class Outlook:
    """One set size: what it measures in the pilot, and how many queries would certify it (None: none would)."""

    mean_kept: float
    measured: float
    queries: int | None


def outlook(
    data: Candidates, *, measure: Any, target: Target, confidence: float, power: float = 0.8, **options: Any
) -> list[Outlook]:
    """Labelled queries needed to certify each of several mean sizes."""
    choices = resolve(
        measure=measure,
        target=target,
        confidence=confidence,
        rule=options.get("rule", "softmax"),
        test="auto",
        tail=options.get("tail", "drop"),
        min_keep=options.get("min_keep", 1),
        max_keep=None,
        depth=options.get("depth"),
        fusion=options.get("fusion", 0.0),
        tune_fraction=0.2,
        fit_on_calibration=False,
        procedure="walk",
        grid="exact",
        if_unreachable="abstain",
        grouped=data.groups is not None,
    )
    folds = fold(data.cut(choices.depth), choices, None)
    prepared = prepare(folds.calibration, choices, fit(folds, choices, as_measure(measure)))
    mean, delta = prepared.data.lengths.mean(), choices.delta / (3 if choices.several_starts else 1)
    rows = []
    for share in SHARES:
        threshold = threshold_for_mean(prepared.keys, prepared.data.offsets, share * mean, choices.min_keep)
        x = prepared.losses.at(threshold)
        needed = queries_needed(float(x.mean()), float(x.var()), target.level, delta, power)
        measured = float(prepared.curves.at(threshold).mean())
        rows.append(Outlook(float(np.mean(prepared.kept(threshold, choices))), measured, needed))
    return rows
