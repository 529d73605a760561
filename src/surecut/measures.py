"""Measures by ir-measures' names: RR@10, nDCG@10, R@100, Success@10, P@10, AP@100, or a function of yours.

Every value is in [0, 1] and defined as in trec_eval: R and AP divide by all judged relevant documents, P by
the cutoff, nDCG has linear gain and a log2(rank + 1) discount with its ideal over all judged documents.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from surecut.arrays import Array, Float64, Int32, Int64
from surecut.candidates import counts_by_query
from surecut.errors import InputError
from surecut.kernels import codes
from surecut.registry import Registry

NO_CUTOFF = 2**31 - 1

OwnFunction = Callable[[Array, Array], float]
"""f(grades_in_final_order, missed_grades) -> a number in [0, 1].

Unjudged documents in the list have grade 0; missed are the grades of judged documents that are not in the list,
whether the retriever never found them or they were pruned.
"""


@dataclass(frozen=True)
class Family:
    """A measure before its cutoff: what ir-measures calls it and what the kernel does for it."""

    name: str
    sentence: str
    code: int
    cutoff_needed: bool = False
    graded: bool = False


FAMILIES = Registry(
    "measure",
    Family("RR", "1 / rank of the first relevant document (MRR is its mean)", codes.RR),
    Family("nDCG", "discounted gain of the grades, relative to the best order there is", codes.NDCG, graded=True),
    Family("R", "share of the relevant documents that were found", codes.RECALL),
    Family("Success", "1 if any relevant document was found", codes.SUCCESS, cutoff_needed=True),
    Family("P", "relevant documents among the first k, divided by k", codes.PRECISION, cutoff_needed=True),
    Family("AP", "mean precision at the relevant documents (MAP is its mean)", codes.AP),
)

_OVERLAP = Family("Overlap", "share of the unpruned top k that is still in the top k", codes.RECALL)


@dataclass(frozen=True)
class Measure:
    """A measure that the compiled kernel knows."""

    family: Family
    cutoff: int | None = None
    rel: int = 1

    def __str__(self) -> str:
        level = f"(rel={self.rel})" if self.rel != 1 else ""
        depth = f"@{self.cutoff}" if self.cutoff is not None else ""
        return f"{self.family.name}{level}{depth}"

    @property
    def needs_judgements(self) -> bool:
        return self.family != _OVERLAP

    @property
    def binary(self) -> bool:
        """Is every value 0 or 1 by definition (never: by looking at a sample)?"""
        return self.family.name == "Success" or (self.cutoff == 1 and self.family.name in ("RR", "P", "Overlap"))

    def totals(self, grades: Int32, offsets: Int64, missed: Int32, missed_offsets: Int64) -> Float64:
        """What each query's sum is divided by: the ideal gain for nDCG, the relevant documents elsewhere."""
        if self.family.graded:
            return _ideal_gains(grades, offsets, missed, missed_offsets, self.cutoff)
        found = counts_by_query(grades >= self.rel, offsets)
        beyond = counts_by_query(missed >= self.rel, missed_offsets)
        return (found + beyond).astype(np.float64)


@dataclass(frozen=True)
class OwnMeasure:
    """A function of the user's, evaluated at every prefix."""

    function: OwnFunction
    name: str

    def __str__(self) -> str:
        return self.name

    @property
    def needs_judgements(self) -> bool:
        return True

    @property
    def binary(self) -> bool:
        return False


AnyMeasure = Measure | OwnMeasure


def overlap(k: int) -> Measure:
    """Agreement with the unpruned top k: recall of it, so the recall kernel serves."""
    return Measure(_OVERLAP, k)


def as_measure(measure: str | OwnFunction | AnyMeasure) -> AnyMeasure:
    """Read a measure's name, or wrap a function of the user's."""
    if isinstance(measure, Measure | OwnMeasure):
        return measure
    if callable(measure):
        name = getattr(measure, "__name__", "own measure")
        if is_built_in(name):
            raise InputError(f"a function of your own is named '{name}', as a built-in measure is: rename it")
        return OwnMeasure(measure, name)
    return _parse(measure)


def is_built_in(name: str) -> bool:
    """Is this, in a certificate, the name of a measure of ours or that of a user's function?"""
    if name.partition("@")[0] == _OVERLAP.name:
        return True
    try:
        _parse(name)
    except InputError:
        return False
    return True


def cutoff_of(name: str) -> int | None:
    """How far a measure looks, by its name in a certificate; None where it may be the whole list."""
    family, _, cutoff = name.partition("@")
    if family == _OVERLAP.name:
        return int(cutoff)
    return _parse(name).cutoff if is_built_in(name) else None


def _parse(text: str) -> Measure:
    import ir_measures

    try:
        parsed: Any = ir_measures.parse_measure(text)
        name, params = parsed.NAME, dict(parsed.params)
    except (NameError, ValueError, SyntaxError, TypeError, AssertionError):
        name, params = text.split("@")[0].split("(")[0], {}
        FAMILIES[name]  # an unknown name is the likeliest fault, and has the better message
        raise InputError(f"cannot read measure '{text}': write it like RR@10 or R(rel=2)@100") from None
    family = FAMILIES[name]
    cutoff, rel = params.pop("cutoff", None), params.pop("rel", 1)
    if params or (family.graded and rel != 1):
        odd = ", ".join(params) or "rel"
        known = "a cutoff @k is known" if family.graded else "a cutoff @k and rel= are known"
        raise InputError(f"measure '{text}': {name} takes no '{odd}' here ({known})")
    if family.cutoff_needed and cutoff is None:
        raise InputError(f"measure '{text}' needs a cutoff: write {name}@10")
    if cutoff is not None and not 1 <= cutoff < NO_CUTOFF:
        raise InputError(f"measure '{text}': the cutoff must be a positive whole number")
    if not isinstance(rel, int) or rel < 1:
        raise InputError(f"measure '{text}': rel must be a whole number of at least 1")
    return Measure(family, cutoff, rel)


def _ideal_gains(grades: Int32, offsets: Int64, missed: Int32, missed_offsets: Int64, cutoff: int | None) -> Float64:
    """Sum of grade / log2(rank + 1) with each query's judged documents in their best order."""
    queries = offsets.size - 1
    found = np.flatnonzero(grades > 0)
    owner = np.concatenate(
        (
            np.searchsorted(offsets, found, side="right") - 1,
            np.repeat(np.arange(queries), np.diff(missed_offsets)),
        )
    )
    gain = np.concatenate((grades[found], np.maximum(missed, 0))).astype(np.float64)
    best = np.lexsort((-gain, owner))
    owner, gain = owner[best], gain[best]
    first = np.searchsorted(owner, np.arange(queries))
    rank = np.arange(owner.size) - first[owner] + 1
    within = rank <= (NO_CUTOFF if cutoff is None else cutoff)
    discounted = within * gain / np.log2(rank + 1.0)
    return np.bincount(owner, weights=discounted, minlength=queries).astype(np.float64)
