"""What the values of options mean: targets, shares and numbers as people write them."""

import math
import re
from collections.abc import Callable
from typing import Any

from surecut.errors import InputError
from surecut.registry import unknown
from surecut.runners import LOCAL, RUNNERS, Runner
from surecut.targets import Agreement, Target, agreement, at_least, max_drop
from surecut.trials.methods import METHODS, Method


def chosen_target(
    at_least_value: str | None,
    max_drop_value: str | None,
    max_drop_abs: str | None,
    agreement_value: str | None,
) -> Target:
    """The one target that was asked for; a drop of 1% if none was."""
    given = {
        "--at-least": at_least_value,
        "--max-drop": max_drop_value,
        "--max-drop-abs": max_drop_abs,
        "--agreement": agreement_value,
    }
    named = [name for name, value in given.items() if value is not None]
    if len(named) > 1:
        raise InputError(f"{' and '.join(named)}: give one target; two claims need two certificates")
    if at_least_value is not None:
        return at_least(_number("--at-least", at_least_value))
    if max_drop_abs is not None:
        return max_drop(_number("--max-drop-abs", max_drop_abs), absolute=True)
    if agreement_value is not None:
        return chosen_agreement(agreement_value)
    return max_drop(_share("--max-drop", "1%" if max_drop_value is None else max_drop_value))


def chosen_agreement(text: str) -> Agreement:
    """0.95@10: a share of the unpruned top k."""
    share, _, k = text.partition("@")
    if k and not (k.isascii() and k.isdecimal()):
        raise InputError(f"--agreement {text}: write it like 0.95@10")
    return agreement(_number("--agreement", share), int(k or 10))


def named_method(text: str) -> Method:
    """surecut, or surecut:rule=rank,test=wsr, or name=surecut:rule=rank,test=wsr."""
    label, given, rest = text.partition("=")
    if not given or ":" in label:
        label, rest = text, text
    base, _, inside = rest.partition(":")
    known = METHODS[base.strip()]
    if not label.strip():
        raise InputError(f"--method {text}: give it a name before the equals sign, or leave that out")
    options: dict[str, Any] = {}
    targets: dict[str, str] = {}
    for part in _outside_brackets(inside):
        name, _, value = (each.strip() for each in part.partition("="))
        if name in targets or name.replace("-", "_") in options:
            raise InputError(f"--method {text}: {name} is given twice")
        if not value and name in (*_TARGETS, *_OPTIONS):
            raise InputError(f"--method {text}: {name} needs a value, {name}=...")
        if name in _TARGETS:
            targets[name] = value
        elif name in _OPTIONS:
            options[name.replace("-", "_")] = _OPTIONS[name](name, value)
        else:
            raise InputError(f"--method {text}: {unknown('option', name, [*_TARGETS, *_OPTIONS])}")
    if targets:
        options["target"] = chosen_target(*(targets.get(name) for name in _TARGETS))
    return Method(label.strip(), known.sentence, {**known.options, **options})


def _outside_brackets(text: str) -> list[str]:
    """The parts between commas; a rule's own parameters have commas in brackets."""
    return [part for part in re.split(r",(?![^(]*\))", text) if part.strip()]


def json_or(json: bool, form: str | None) -> str | None:
    """The format: --json is a short form of --format json."""
    if json and form not in (None, "json"):
        raise InputError(f"--json and --format {form} are both given: leave one out")
    return "json" if json else form


def chosen_confidence(text: str) -> float:
    return _number("--confidence", text)


def chosen_fusion(text: str) -> float | str:
    return text if text == "fit" else _number("--fusion", text)


def chosen_runner(
    name: str, address: str | None, workers: int | None = None, cpus: float = 1.0, gpus: float = 0.0
) -> Runner:
    """Who computes."""
    if name not in RUNNERS:
        raise InputError(unknown("runner", name, list(RUNNERS)))
    if name == "ray":
        from surecut.runners.ray import Ray

        return Ray(address, workers, cpus, gpus)
    if (address, workers, cpus, gpus) != (None, None, 1.0, 0.0):
        raise InputError("an address, workers, their processors and GPUs are of a Ray cluster: add --runner ray")
    return LOCAL


def chosen_limit(option: str, text: str) -> float:
    value = _share(option, text)
    if not 0.0 <= value < math.inf:
        raise InputError(f"{option} {text}: not a share of 0 or more")
    return value


def _share(option: str, text: str) -> float:
    """1% or 0.01; a bare 1 is refused, because both 1% and 100% could be meant."""
    value = _number(option, text)
    if not text.strip().endswith("%") and value >= 1:
        raise InputError(f"{option} {text}: write {text}% for a share in percent, or a number below 1")
    return value


def _number(option: str, text: str) -> float:
    stripped = text.strip()
    try:
        return float(stripped[:-1]) / 100 if stripped.endswith("%") else float(stripped)
    except ValueError:
        raise InputError(f"{option} {text}: not a number") from None


def _whole(option: str, text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise InputError(f"{option} {text}: not a whole number")
    return int(text)


def _as_written(option: str, text: str) -> str:
    return text


_TARGETS = ("at-least", "max-drop", "max-drop-abs", "agreement")
_OPTIONS: dict[str, Callable[[str, str], Any]] = {
    "measure": _as_written,
    "confidence": _number,
    "rule": _as_written,
    "test": _as_written,
    "tail": _as_written,
    "min-keep": _whole,
    "max-keep": _whole,
    "fusion": lambda _, text: chosen_fusion(text),
    "tune-fraction": _number,
    "grid": _as_written,
    "if-unreachable": _as_written,
}
"""What a method of one's own may set, as `calibrate` names it."""
