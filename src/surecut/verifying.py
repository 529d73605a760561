"""A certificate against its own data: made again as it says, and compared in everything it says."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from surecut.arrays import Int64
from surecut.assessing import NothingPruned, claimed, size_asked, size_of, threshold_of
from surecut.calibration import certificate as written
from surecut.certificate import Certificate
from surecut.checking import declared_measure
from surecut.choices import Choices
from surecut.deciding import decide
from surecut.errors import InputError
from surecut.fitting import fit
from surecut.folding import Folds
from surecut.lists import Lists, refuse_no_lists
from surecut.measures import OwnFunction
from surecut.preparing import prepare
from surecut.rederiving import (
    SAME,
    Contradicted,
    Given,
    choices_of,
    other_data,
    possible_ends,
    possible_folds,
)
from surecut.reducing import CountKept
from surecut.version import __version__

_ABSENT = "(not there)"
_ZERO = 1e-12  # rounding may make this of a 0


@dataclass(frozen=True)
class Difference:
    """A field, by its dotted name: what the certificate says, and what its data give."""

    field: str
    certified: Any
    found: Any

    @property
    def rounding(self) -> bool:
        """Are they one number, up to the last digits that another machine may round otherwise?"""
        pair = (self.certified, self.found)
        if any(isinstance(each, bool) or not isinstance(each, int | float) for each in pair):
            return False
        return any(isinstance(each, float) for each in pair) and math.isclose(*pair, rel_tol=SAME, abs_tol=_ZERO)


@dataclass(frozen=True)
class Verification:
    """What came out when a certificate was made again.

    `same` says that these data, with the choices the certificate names, lead to everything it says; `identical` that
    not even a last digit differs. `differences` are the fields that say otherwise, `rounded` those that differ in last
    digits only. `again` is the certificate that these data give (None: what it says cannot be asked for), `made_by` and
    `verified_by` are versions of surecut, which are not compared. `reason` is the verdict in words.
    """

    same: bool
    identical: bool
    reason: str
    differences: tuple[Difference, ...]
    rounded: tuple[Difference, ...]
    again: Certificate | None
    made_by: str
    verified_by: str = __version__

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values; of the certificate that was found, its digest."""
        return {
            "same": self.same,
            "identical": self.identical,
            "reason": self.reason,
            "differences": [asdict(each) for each in self.differences],
            "rounded": [asdict(each) for each in self.rounded],
            "digest_again": None if self.again is None else self.again.digest,
            "made_by": self.made_by,
            "verified_by": self.verified_by,
        }


def verify(
    certificate: Certificate,
    data: Lists,
    *,
    depth: int | None = None,
    tune: Lists | None = None,
    tune_fraction: float = 0.2,
    max_keep: int | None = None,
    keep: int | None = None,
    budget: float | None = None,
    loss: OwnFunction | None = None,
    measure: OwnFunction | None = None,
    any_system: bool = False,
) -> Verification:
    """Make a certificate again from its data, and say whether it is the same.

    It is, if `calibrate` (or `assess`), with the choices that the certificate names, gives all that it says: the
    threshold, and also the statement, the means, the advice. That it does not is no error: look at `same`.

    >>> verify(load_certificate("cert.json"), data).same  # doctest: +SKIP

    Args:
        certificate: Made by `calibrate` or `assess`.
        data: What it was made from, all of it.
        depth: As `calibrate` was given it; needed where no list is as long as that.
        tune: The tuning table, if it was given one.
        tune_fraction: The share set aside (`aside` of `assess`), if it was not the usual one.
        max_keep: The cap, needed only for one that abstained, which does not record it.
        keep: The cut of `assess`, needed only for one that abstained; so is `budget`.
        loss: The function, where the claim is about a loss of your own.
        measure: The function, where the measure is your own.
        any_system: Leave out of the comparison which retriever and reranker the data name.

    Raises:
        InputError: It cannot be told: too few queries, no judgements, something is needed that was not given.
    """
    refuse_no_lists(data)
    if max_keep is not None and certificate.status != "abstained":
        raise InputError("the certificate records whether it has a cap: leave out --max-keep (max_keep=)")
    deep, other = data.cut(depth), None if tune is None else tune.cut(depth)
    given = Given(deep, other, tune_fraction, max_keep, loss, measure)
    size = None if keep is None and budget is None else size_asked(keep, budget)
    nearest: _Found | None = None
    try:
        for again, queries in _made_again(certificate, given, size):
            found = _compared(certificate, again, queries, any_system)
            if nearest is None or len(found.differences) < len(nearest.differences):
                nearest = found
            if not found.differences:
                break
    except Contradicted as contradiction:
        return Verification(False, False, contradiction.sentence, (), (), None, certificate.surecut)
    assert nearest is not None
    return _verdict(certificate, nearest, any_system)


@dataclass(frozen=True, eq=False)
class _Found:
    again: Certificate
    differences: tuple[Difference, ...]
    rounded: tuple[Difference, ...]


def _made_again(certificate: Certificate, given: Given, size: float | None) -> Iterator[tuple[Certificate, Lists]]:
    """Every certificate that the choices it names may lead to, with the queries that certify."""
    if size is not None and certificate.procedure != "assess":
        raise InputError("the certificate was not made by assess: leave out the cut (--keep, --budget; keep=, budget=)")
    choices = choices_of(certificate, given)
    for folds in possible_folds(certificate, choices, given):
        if certificate.procedure == "assess":
            yield _assessed_again(certificate, choices, folds, size), folds.calibration
            continue
        fitted = fit(folds, choices, declared_measure(certificate, given.measure))
        prepared = prepare(folds.calibration, choices, fitted)
        for if_unreachable in possible_ends(certificate, choices.target):
            asked = replace(choices, if_unreachable=if_unreachable)
            decision = decide(asked, fitted, prepared.losses, prepared.capped)
            yield written(asked, folds, fitted, prepared, decision), folds.calibration


def _assessed_again(certificate: Certificate, choices: Choices, folds: Folds, size: float | None) -> Certificate:
    if size is None and not math.isfinite(certificate.threshold):
        raise InputError(
            "the certificate abstained about a cut that it does not record: give the cut (--keep, keep=; or --budget, "
            "budget=)"
        )
    cut = size_of(certificate.threshold, choices, folds) if size is None else size
    try:
        return claimed(choices, folds, threshold_of(cut, choices, folds))
    except NothingPruned as error:
        raise Contradicted(f"what the certificate says cannot be assessed: {error.sentence}") from None


def _compared(certificate: Certificate, again: Certificate, queries: Lists, any_system: bool) -> _Found:
    """All that differs; what differs in last digits only must not move a single candidate."""
    said, given = certificate.to_dict(), again.to_dict()
    for name in ("surecut", "system") if any_system else ("surecut",):
        del said[name], given[name]
    found = list(_differences(said, given))
    differences = tuple(each for each in found if not each.rounding)
    rounded = tuple(each for each in found if each.rounding)
    if not differences and rounded and not np.array_equal(_kept(certificate, queries), _kept(again, queries)):
        differences = tuple(each for each in rounded if each.field == "threshold" or each.field.startswith("rule."))
        rounded = tuple(each for each in rounded if each not in differences)
    return _Found(again, differences, rounded)


def _differences(certified: Any, found: Any, name: str = "") -> Iterator[Difference]:
    if isinstance(certified, Mapping) and isinstance(found, Mapping):
        for key in {**certified, **found}:
            inner = f"{name}.{key}" if name else str(key)
            if key in certified and key in found:
                yield from _differences(certified[key], found[key], inner)
            else:
                yield Difference(inner, certified.get(key, _ABSENT), found.get(key, _ABSENT))
    elif isinstance(certified, list) and isinstance(found, list) and len(certified) == len(found):
        for place, pair in enumerate(zip(certified, found, strict=True)):
            yield from _differences(*pair, f"{name}.{place}")
    elif type(certified) is not type(found) or certified != found:
        yield Difference(name, certified, found)


def _kept(certificate: Certificate, queries: Lists) -> Int64:
    rule, threshold = certificate.pruner.rule, certificate.threshold
    counting = CountKept(rule, threshold, certificate.min_keep, certificate.max_keep)
    return np.concatenate(list(queries.map(counting, scores_only=True)))


def _verdict(certificate: Certificate, found: _Found, any_system: bool) -> Verification:
    reason = _reason(certificate, found)
    if any_system and certificate.system != found.again.system:
        reason += "; which retriever and reranker the data name was not compared"
    if certificate.surecut != __version__:
        reason += f"; surecut {certificate.surecut} made it, this is {__version__}"
    return Verification(
        same=not found.differences,
        identical=not found.differences and not found.rounded,
        reason=reason,
        differences=found.differences,
        rounded=found.rounded,
        again=found.again,
        made_by=certificate.surecut,
    )


def _reason(certificate: Certificate, found: _Found) -> str:
    again, names = found.again, [each.field for each in found.differences]
    if not names:
        rounded = [each.field for each in found.rounded]
        close = f", up to the rounding of last digits ({_listed(rounded)})" if rounded else ""
        return f"made again from its data it is the same certificate{close}"
    if "calibration.fingerprint" in names:
        return other_data(certificate, again.calibration["queries"], again.calibration["fingerprint"])
    if all(each.rounding for each in found.differences):
        return f"made again from its data it keeps other candidates, by the last digits of {_listed(names)}"
    if "status" in names or "threshold" in names:
        return (
            f"made again from its data it is {again.status} at threshold {again.threshold:.6g}, and it says "
            f"{certificate.status} at {certificate.threshold:.6g}{_hint(names)}"
        )
    return f"made again from its data it does not say the same: {_listed(names)}{_hint(names)}"


def _hint(names: list[str]) -> str:
    """What to give where a field may differ because these data do not tell."""
    if "depth" in names:
        return " (if that depth was asked for, give it: --depth, depth=)"
    if all(name.startswith("system.") for name in names):
        return " (give data that name the same retriever and reranker, or leave it out: --any-system, any_system=True)"
    return ""


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:6])
    return f"{shown} and {len(names) - 6:,} more" if len(names) > 6 else shown
