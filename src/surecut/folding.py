"""Who calibrates and who tunes: whatever is fitted or placed belongs to queries outside the certificate."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from surecut.arrays import Bool, Float64
from surecut.candidates import hashed_share
from surecut.choices import Choices
from surecut.errors import InputError
from surecut.lists import Lists

FEWEST = 30
"""Usable queries below which nothing is attempted."""

_TUNE_SALT = b"surecut tune "
ASIDE = 0.05
L = TypeVar("L", bound=Lists)


@dataclass(frozen=True)
class Folds:
    """The queries that certify, and those that something was fitted or placed on."""

    calibration: Lists
    tuning: Lists | None = None
    source: str | None = None  # fold, table, calibration, unjudged, aside
    fixed_grid: bool = False  # decided before any query is set aside

    def to_json(self, purposes: list[str]) -> dict[str, Any] | None:
        if self.tuning is None or not purposes:
            return None
        return {"source": self.source, "queries": len(self.tuning), "for": purposes}


def fold(data: Lists, choices: Choices, tune: Lists | None) -> Folds:
    """Divide the queries as the choices need it; nothing to fit, no division."""
    usable = judged_only(data) if choices.measure.needs_judgements else enough(data)
    fixed = choices.fixed_grid(len(usable) if usable.groups is None else len(set(usable.groups)))
    return replace(_divide(data, usable, choices, tune, fixed), fixed_grid=fixed)


def _divide(data: Lists, usable: Lists, choices: Choices, tune: Lists | None, fixed: bool) -> Folds:
    if tune is not None:
        refuse_overlap(data, tune)
        return Folds(usable, _judged(tune) if choices.fits_something else tune, "table")
    if choices.fits_something:
        if choices.fit_on_calibration:
            return Folds(usable, usable, "calibration")
        return set_aside(usable, choices.tune_fraction, "fold")
    if choices.places_thresholds(fixed):
        return place_elsewhere(data, usable, choices, ASIDE)
    return Folds(usable)


def place_elsewhere(data: Lists, usable: Lists, choices: Choices, share: float) -> Folds:
    """Queries to place thresholds on: the unjudged ones if there are enough, else a share set aside."""
    certifying, units = set(usable.units), data.units
    unjudged = np.array([q for q in np.flatnonzero(~data.judged) if units[q] not in certifying], dtype=np.int64)
    if choices.measure.needs_judgements and unjudged.size >= FEWEST:
        return Folds(usable, data.take(unjudged), "unjudged")
    return set_aside(usable, share, "aside")


def refuse_overlap(data: Lists, tune: Lists) -> None:
    """Queries, and groups of queries, tune or certify, never both."""
    if (data.groups is None) != (tune.groups is None):
        with_them, without = ("tuning", "calibration") if data.groups is None else ("calibration", "tuning")
        raise InputError(
            f"the {with_them} data have groups and the {without} data have none, so that a group might tune and "
            "certify: give both theirs (--groups, with_groups, or a column 'group')"
        )
    for what, here, there in (("query", data.query_ids, tune.query_ids), ("group", data.units, tune.units)):
        both = set(here) & set(there)
        if both:
            raise InputError(
                f"{what} '{min(both)}' is in the tuning data and in the calibration data ({len(both):,} are)"
            )


def set_aside(data: Lists, share: float, source: str) -> Folds:
    """Divide the queries by a hash of their ids."""
    tuning = in_tuning_fold(data, share)
    rest = data.take(np.flatnonzero(~tuning))
    enough(rest)
    if not tuning.any():
        raise InputError(f"too few queries to set {share:.0%} of them aside: give more, or a tuning table")
    return Folds(rest, data.take(np.flatnonzero(tuning)), source)


def in_tuning_fold(data: Lists, share: float) -> Bool:
    """Which queries a fold of that share would take, whatever other queries there are."""
    return tuning_place(data.units) < share


def tuning_place(units: Iterable[str]) -> Float64:
    """Where in [0, 1) each unit lies: a fold takes those below its share."""
    return hashed_share(units, _TUNE_SALT)


def judged_only(data: L) -> L:
    """The queries that have judgements, at least FEWEST of them with something relevant somewhere."""
    chosen = _judged(data)
    if not chosen.any_relevant:
        raise InputError("no relevant document anywhere in the judgements: nothing can be measured")
    return enough(chosen)


def enough(data: L) -> L:
    if len(data) < FEWEST:
        raise InputError(f"{len(data)} usable queries are too few to say anything: at least {FEWEST} are needed")
    return data


def _judged(data: L) -> L:
    if data.judged.all():
        return data
    if not data.judged.any():
        raise InputError(
            "no query is judged: give judgements (--qrels FILE with run files, qrels.txt in a folder of run files, "
            "qrels.parquet in a score table), or use an "
            "agreement target, which needs none (--agreement 0.95@10)"
        )
    return data.take(np.flatnonzero(data.judged))
