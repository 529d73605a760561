"""Who does the work: threads of this process, or the nodes of a cluster. No result depends on it."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from surecut.runners.threads import in_order
from surecut.watching import SILENT, Watch

T = TypeVar("T")
Made = TypeVar("Made")
Done = TypeVar("Done", covariant=True)


class Working(Protocol[Done]):
    """A worker that is ready."""

    def __call__(self, item: Any, /) -> Done:
        """Work on one item; `NothingGoesThrough` says that it is not the item's fault that it cannot be done."""
        ...

    def alive(self) -> bool:
        """Does anything go through, of all that there is to work on?"""
        ...


class Worker(Protocol[Made]):
    """Everything that is needed to work on items that a model is needed for, wherever that is."""

    def __call__(self) -> Working[Made]:
        """Make ready: load a model, map an index."""
        ...

    def divided(self, item: Any) -> Sequence[Any]:
        """An item that ends its worker in parts, to be tried one by one; none if it has no parts."""
        ...

    def joined(self, made: Sequence[Made]) -> Made:
        """What was made of the parts, as if it were made of the item."""
        ...

    def given_up(self, item: Any, reason: str) -> Made:
        """What stands for an item without parts that cannot be worked on at all."""
        ...


class Runner(Protocol):
    """Works on many things at a time."""

    def start(self, watch: Watch = SILENT) -> None:
        """Whatever has to be there before the first item is."""
        ...

    def map(self, work: Callable[[Any], T], items: Iterable[Any]) -> Iterator[T]:
        """What `work` makes of each item, in their order; items are asked for only a little ahead of their turn."""
        ...

    def infer(self, worker: Worker[T], items: Sequence[Any]) -> Iterator[tuple[int, T]]:
        """What workers that hold a model make of each item, with its place, in the order in which they are done."""
        ...


@dataclass(frozen=True)
class Local:
    """Threads of this process; all cores unless told otherwise."""

    jobs: int | None = None

    def start(self, watch: Watch = SILENT) -> None:
        """Threads are there."""

    def map(self, work: Callable[[Any], T], items: Iterable[Any]) -> Iterator[T]:
        return in_order(work, items, self.jobs)

    def infer(self, worker: Worker[T], items: Sequence[Any]) -> Iterator[tuple[int, T]]:
        """One after the other: a model spreads its batches over the cores by itself."""
        if not items:
            return  # nothing that a model would have to be loaded for
        work = worker()
        for place, item in enumerate(items):
            yield place, work(item)


LOCAL = Local()
RUNNERS = ("local", "ray")
"""Their names on the command line."""
