"""Variants found by name: rules, tests and measures declare themselves here, help texts are made from it."""

import difflib
from collections.abc import Iterator
from typing import Generic, Protocol, TypeVar

from surecut.errors import InputError


class Named(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def sentence(self) -> str: ...


T = TypeVar("T", bound=Named)


class Registry(Generic[T]):
    """The variants of one kind, in the order they were declared."""

    def __init__(self, kind: str, *variants: T) -> None:
        self.kind = kind
        self._variants = {variant.name: variant for variant in variants}

    def __getitem__(self, name: str) -> T:
        try:
            return self._variants[name]
        except KeyError:
            raise InputError(unknown(self.kind, name, list(self._variants))) from None

    def __iter__(self) -> Iterator[T]:
        return iter(self._variants.values())

    def names(self) -> list[str]:
        return list(self._variants)

    def help(self) -> str:
        """One line a variant, for --help."""
        return "; ".join(f"{variant.name}: {variant.sentence}" for variant in self)


def unknown(kind: str, name: str, known: list[str]) -> str:
    """The sentence for a name that is not known, with the nearest one that is."""
    lowered = {each.lower(): each for each in known}
    near = difflib.get_close_matches(name.lower(), list(lowered), n=1, cutoff=0.5)
    hint = f"did you mean '{lowered[near[0]]}'? " if near else ""
    return f"unknown {kind} '{name}': {hint}known are {', '.join(known)}"
