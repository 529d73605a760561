"""Who does the work: threads of this process, or the nodes of a cluster. No result depends on it."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from surecut.runners.threads import in_order

T = TypeVar("T")


class Runner(Protocol):
    """Works on many things at a time."""

    def map(self, work: Callable[[Any], T], items: Iterable[Any]) -> Iterator[T]:
        """What `work` makes of each item, in their order; items are asked for only a little ahead of their turn."""
        ...


@dataclass(frozen=True)
class Local:
    """Threads of this process; all cores unless told otherwise."""

    jobs: int | None = None

    def map(self, work: Callable[[Any], T], items: Iterable[Any]) -> Iterator[T]:
        return in_order(work, items, self.jobs)


LOCAL = Local()
