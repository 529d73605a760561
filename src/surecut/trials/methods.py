"""What is compared: surecut, the paper's procedure, its two baselines, and anything else that `calibrate` can do."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from inspect import signature
from typing import Any

from surecut.choices import Choices, resolve
from surecut.errors import InputError
from surecut.measures import AnyMeasure, as_measure
from surecut.registry import Registry, unknown


@dataclass(frozen=True)
class Method:
    """A name, and the arguments of `calibrate` in which it differs from the others.

    `options` go on top of what all methods of a trial share; `sentence` says what it is.

    >>> Method("by rank, WSR", options={"rule": "rank", "test": "wsr"}).name
    'by rank, WSR'
    """

    name: str
    sentence: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)


METHODS = Registry(
    "method",
    Method("surecut", "the certified walk"),
    Method("cec", "the paper's procedure, as published", {"procedure": "paper"}),
    Method("est", "empirical score threshold", {"procedure": "est"}),
    Method("ert", "empirical rank threshold", {"procedure": "ert"}),
)


@dataclass(frozen=True)
class Contender:
    """A method with every choice made."""

    name: str
    choices: Choices
    declared: AnyMeasure  # the measure as asked for; a target may measure something else

    @property
    def claim(self) -> str:
        return self.choices.target.words(str(self.choices.measure))


def contenders(methods: Iterable[str | Method], common: Mapping[str, Any], grouped: bool) -> list[Contender]:
    """Each method on top of the arguments that all share; a wrong word is refused before anything runs."""
    chosen = [METHODS[each] if isinstance(each, str) else each for each in methods]
    if not chosen:
        raise InputError(f"name at least one method to try: {', '.join(METHODS.names())}, or one of your own")
    names = [method.name for method in chosen]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"method '{name}' is named twice: give the second one another name")
    return [_contender(method, common, grouped) for method in chosen]


def _contender(method: Method, common: Mapping[str, Any], grouped: bool) -> Contender:
    """A method with its own options on top of the common ones."""
    options = {**common, **method.options}
    for name in options:
        if name not in _KNOWN:
            raise InputError(f"method '{method.name}': {unknown('option', name, _KNOWN)}")
    if "depth" in method.options:
        raise InputError(f"method '{method.name}': all methods see the same lists: give the depth for all of them")
    for name in _WITHOUT_EFFECT.get(str(options.get("procedure", "walk")), ()):
        if name in method.options:
            what = _BASES[options["procedure"]]
            raise InputError(f"method '{method.name}': {name} has no effect on {what}: leave it out")
    try:
        choices = resolve(grouped=grouped, **options)
    except InputError as error:
        raise InputError(f"method '{method.name}': {error}" if method.options else str(error)) from None
    return Contender(method.name, choices, as_measure(options.get("measure", "RR@10")))


_KNOWN = [name for name in signature(resolve).parameters if name != "grouped"]
_WITHOUT_EFFECT = {
    "paper": ("rule", "test", "grid", "tune_fraction", "if_unreachable"),
    "est": ("test", "confidence", "grid", "if_unreachable"),
    "ert": ("rule", "test", "confidence", "grid", "if_unreachable"),
}
"""Arguments of `calibrate` that a procedure pays no heed to."""
_BASES = {str(each.options.get("procedure", "walk")): each.name for each in METHODS}
