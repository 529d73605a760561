"""Ranked lists wherever they are: in memory (`Candidates`) or on disk (`ScoreTable`), one way of working on both.

Whatever is computed of the lists is computed piece by piece: a piece is some whole queries, as Candidates. What is
left of a piece is small, and comes back in the order of the queries, so that no result depends on how the lists were
divided, on who computed a piece or on which was ready first.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

import numpy as np

from surecut.arrays import Array, Bool, Int64, Strings
from surecut.errors import InputError

if TYPE_CHECKING:
    from surecut.candidates import Candidates, Census

T = TypeVar("T")


class Lists(Protocol):
    """Queries with their ranked lists."""

    @property
    def query_ids(self) -> Strings: ...

    @property
    def lengths(self) -> Int64: ...

    @property
    def judged(self) -> Bool: ...

    @property
    def groups(self) -> Strings | None: ...

    @property
    def units(self) -> Strings: ...

    @property
    def census(self) -> "Census": ...

    @property
    def system(self) -> Mapping[str, str]: ...

    @property
    def depth(self) -> int | None: ...

    @property
    def any_relevant(self) -> bool:
        """Is anything relevant to any of the queries?"""
        ...

    @property
    def without_relevant(self) -> int: ...

    def __len__(self) -> int: ...

    def take(self, queries: Array) -> Self:
        """Some queries, by position, each once; a table keeps them in its own order."""
        ...

    def cut(self, depth: int | None) -> Self: ...

    def fingerprint(self) -> str:
        """A hash of scores and relevant grades by query id."""
        ...

    def at_hand(self) -> "Candidates":
        """All lists at once, without document ids, for whoever comes back to them often; those of a table lie in
        files that are mapped into memory."""
        ...

    def map(self, work: "Callable[[Candidates], T]", scores_only: bool = False) -> Iterator[T]:
        """What `work` makes of each piece, in the order of the queries; `scores_only` leaves all but the retriever's
        scores out of the pieces."""
        ...


def refuse_no_lists(data: object) -> None:
    """Say what is expected, to whoever gives something else."""
    if not all(hasattr(data, name) for name in ("query_ids", "judged", "map")):
        raise InputError(
            f"Candidates or a score table are needed here, not {type(data).__name__}: see Candidates.from_arrays and "
            "others"
        )


def by_id(data: Lists) -> Int64:
    """Positions of the queries in the order of their ids, so that sums do not depend on the order of the input."""
    return np.argsort(data.query_ids, kind="stable")


def as_it_is(data: "Candidates") -> "Candidates":
    """A piece itself, for `map`."""
    return data


def without_ids(data: "Candidates") -> "Candidates":
    """A piece without its document ids, which take most of the memory."""
    return replace(data, doc_ids=None)
