"""From a certificate and its data back to the calibration it came from, by the functions that `calibrate` uses.

A certificate records every choice but four: the share set aside for tuning, what was to happen if the target is
out of reach (its status shows that where it mattered), and, of one that abstained, its cap or the cut it was about.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from surecut.assessing import divide
from surecut.calibration import Calibration
from surecut.candidates import Candidates
from surecut.certificate import Certificate, refuse_other_system
from surecut.checking import declared_measure
from surecut.choices import IF_UNREACHABLE, Choices, resolve
from surecut.deciding import Decision, decide
from surecut.errors import InputError
from surecut.fitting import Fitted, fit
from surecut.folding import Folds, fold
from surecut.lists import Lists
from surecut.measures import OwnFunction
from surecut.preparing import prepare
from surecut.rules import RULES, Rule
from surecut.statements import CAP_NOT_APPLIED
from surecut.targets import Risk, Target, target_from_json

SAME = 1e-9
"""Other machines may round the last bits of a fitted number otherwise."""


class Contradicted(InputError):
    """These data, with the choices that the certificate names, do not lead to it."""


@dataclass(frozen=True, eq=False)
class Given:
    """What `calibrate` was given and a certificate does not hold."""

    data: Lists
    tune: Lists | None = None
    tune_fraction: float = 0.2
    max_keep: int | None = None
    loss: OwnFunction | None = None
    measure: OwnFunction | None = None


def rederive(
    certificate: Certificate,
    data: Candidates,
    *,
    tune: Candidates | None = None,
    tune_fraction: float = 0.2,
    max_keep: int | None = None,
    loss: OwnFunction | None = None,
    measure: OwnFunction | None = None,
    any_system: bool = False,
) -> Calibration:
    """Calibrate again as the certificate says; refuse data that are not its own, or that lead elsewhere.

    `tune`, `tune_fraction` and `max_keep` are those `calibrate` was given; the last is needed only for a
    certificate that abstained under a cap, because it does not apply the cap either.
    """
    refuse_other_system(certificate, data.system, any_system)
    as_deep = data.cut(certificate.depth) if data.lengths.max(initial=0) <= certificate.depth else data
    given = Given(as_deep, tune, tune_fraction, max_keep, loss, measure)
    choices = choices_of(certificate, given)
    for folds in possible_folds(certificate, choices, given):
        try:
            return _calibrated_again(certificate, choices, folds, declared_measure(certificate, measure))
        except Contradicted as contradiction:
            failed = contradiction
    raise failed


def choices_of(certificate: Certificate, given: Given) -> Choices:
    """What was asked for, as far as the certificate says so."""
    _refuse_what_is_missing(certificate, given)
    target, declared = _target(certificate, given.loss), declared_measure(certificate, given.measure)
    source = None if certificate.tune is None else certificate.tune["source"]
    resolve(target=target, tune_fraction=given.tune_fraction, max_keep=given.max_keep)  # a fault of these is no finding
    try:
        choices = resolve(
            measure=declared,
            target=target,
            confidence=certificate.confidence,
            rule=_rule(certificate),
            test=certificate.test,
            tail=certificate.tail,
            min_keep=certificate.min_keep,
            max_keep=certificate.max_keep if given.max_keep is None else given.max_keep,
            depth=certificate.depth,
            fusion="fit" if certificate.fusion["fitted"] else float(certificate.fusion["beta"]),
            tune_fraction=given.tune_fraction,
            fit_on_calibration=source == "calibration",
            procedure="walk" if certificate.procedure == "assess" else certificate.procedure,
            grid=str(certificate.grid["kind"]),
            grouped=given.data.groups is not None,
        )
    except InputError as error:
        raise Contradicted(f"what the certificate says cannot be asked for: {error.sentence}") from None
    if certificate.procedure == "assess" and choices.fits_something:
        raise Contradicted("what the certificate says cannot be asked for: assess fits nothing")
    if choices.measure.needs_judgements and not given.data.judged.any():
        raise InputError("no query is judged: give the judgements that the certificate was made with (--qrels FILE)")
    return replace(choices, look=int(certificate.calibration.get("look", 0)))


def possible_folds(certificate: Certificate, choices: Choices, given: Given) -> Iterator[Folds]:
    """The queries that certified and those that something was fitted or placed on, at every depth it may have had."""
    divided = divide if certificate.procedure == "assess" else fold
    for depth in _possible_depths(certificate, given):
        yield divided(given.data.cut(depth), choices, None if given.tune is None else given.tune.cut(depth))


def _possible_depths(certificate: Certificate, given: Given) -> tuple[int | None, ...]:
    """A certificate does not say whether its depth was asked for, or is that of its longest list."""
    longest = max(int(each.lengths.max(initial=0)) for each in (given.data, given.tune) if each is not None)
    return (None, certificate.depth) if longest > certificate.depth else (None,)


def _calibrated_again(certificate: Certificate, choices: Choices, folds: Folds, declared: Any) -> Calibration:
    _refuse_other_data(certificate, folds.calibration)
    if certificate.procedure == "assess":
        choices = replace(choices, procedure="assess")
        fitted = Fitted(choices.rule, float(choices.fusion), (certificate.threshold,), None, ["threshold"])
    else:
        fitted = _as_certified(certificate, fit(folds, choices, declared))
    prepared = prepare(folds.calibration, choices, fitted)
    return _decided(certificate, Calibration(choices, folds, fitted, prepared, _recorded(certificate)))


def _refuse_what_is_missing(certificate: Certificate, given: Given) -> None:
    if certificate.tune is not None and certificate.tune["source"] == "table" and given.tune is None:
        raise InputError("the certificate was tuned on a table of its own: give that too (--tune-table, tune=)")
    if certificate.status == "abstained" and CAP_NOT_APPLIED in certificate.statement and given.max_keep is None:
        raise InputError(
            "the certificate abstained under a cap that it does not record: give the cap (--max-keep, max_keep=)"
        )


def _target(certificate: Certificate, loss: OwnFunction | None) -> Target:
    target = target_from_json(dict(certificate.target), loss)
    if isinstance(target, Risk):
        return replace(target, is_binary=certificate.test == "binomial")
    return target


def _rule(certificate: Certificate) -> Rule:
    rule = RULES[certificate.rule["name"]]
    if certificate.tune is not None and "temperature" in certificate.tune["for"]:
        return rule
    return rule.with_parameters(certificate.rule["parameters"])


def _refuse_other_data(certificate: Certificate, calibration: Lists) -> None:
    if (found := calibration.fingerprint()) != certificate.calibration["fingerprint"]:
        raise Contradicted(other_data(certificate, len(calibration), found))


def other_data(certificate: Certificate, queries: int, fingerprint: str) -> str:
    """The sentence for data that the certificate was not made from."""
    tuned = ", --tune-fraction" if certificate.tune is not None else ""
    return (
        f"these {queries:,} queries are not the {certificate.calibration['queries']:,} the certificate was "
        f"calibrated on (fingerprint {fingerprint}, certified {certificate.calibration['fingerprint']}): give that "
        "data, with the options it was calibrated with "
        f"(--qrels, --depth, --missing-reranker, --absent, --groups{tuned})"
    )


def _as_certified(certificate: Certificate, fitted: Fitted) -> Fitted:
    """What was fitted, once it is known that fitting again gives the certificate's numbers."""
    temperature = certificate.rule["parameters"].get("temperature", 1.0)
    pairs = (
        ("temperature", fitted.rule.parameters.get("temperature", 1.0), temperature),
        ("fusion weight", fitted.beta, float(certificate.fusion["beta"])),
    )
    for what, found, known in pairs:
        if not math.isclose(found, known, rel_tol=SAME, abs_tol=SAME):
            raise Contradicted(
                f"fitted again the {what} is {found:.6g}, in the certificate {known:.6g}: give the tuning data it was "
                "made with (--tune-table, --tune-fraction), or the measure it was fitted for (in Python, measure=)"
            )
    rule = fitted.rule.with_parameters(certificate.rule["parameters"])
    return replace(fitted, rule=rule, beta=float(certificate.fusion["beta"]))


def _recorded(certificate: Certificate) -> Decision:
    return Decision(
        certificate.threshold, certificate.status, dict(certificate.relaxed) if certificate.relaxed else None
    )


def _decided(certificate: Certificate, rederived: Calibration) -> Calibration:
    """Decide again, and refuse if that ends elsewhere than the certificate."""
    if not rederived.searched:
        return rederived
    found: Decision | None = None
    for if_unreachable in possible_ends(certificate, rederived.choices.target):
        choices = replace(rederived.choices, if_unreachable=if_unreachable)
        decision = decide(choices, rederived.fitted, rederived.prepared.losses, rederived.prepared.capped)
        if _same(decision, certificate):
            return replace(rederived, choices=choices, decision=decision)
        found = found or decision
    assert found is not None
    raise Contradicted(
        f"calibrating on its data again ends {found.status} at threshold {found.threshold:.6g}, the certificate "
        f"(surecut {certificate.surecut}) says {certificate.status} at {certificate.threshold:.6g}: "
        "make it again with `surecut calibrate`"
    )


def possible_ends(certificate: Certificate, target: Target) -> Iterator[str]:
    """What may have been asked for if the target is out of reach, as far as the outcome tells."""
    relaxed = certificate.relaxed or {}
    if "value" in relaxed:
        yield "relax-target"
    elif "confidence" in relaxed:
        yield "relax-confidence"
    elif target.is_drop:
        yield "abstain"
    else:
        yield from IF_UNREACHABLE


def _same(decision: Decision, certificate: Certificate) -> bool:
    same = decision.threshold == certificate.threshold or math.isclose(
        decision.threshold, certificate.threshold, rel_tol=SAME
    )
    return same and decision.status == certificate.status
