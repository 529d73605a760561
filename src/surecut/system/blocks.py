"""Documents in blocks: each is encoded and kept by itself, in whatever order they are done."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from surecut.arrays import Int64
from surecut.errors import Unscorable
from surecut.system.isolating import Isolated, isolate, refuse_hopeless, spread
from surecut.system.texts import TextStore

T = TypeVar("T")
_SIZE = 512


def blocks_of(count: int) -> list[range]:
    """All documents by their numbers."""
    return [range(start, min(start + _SIZE, count)) for start in range(0, count, _SIZE)]


@dataclass(frozen=True, eq=False)
class Encoding(Generic[T]):
    """What a model makes of each document of a block, by its number; and why it fails on some."""

    encode: Callable[[list[str]], Sequence[T]]
    documents: TextStore

    def __call__(self, block: range) -> Isolated[T]:
        def encode_some(places: Int64) -> Sequence[T]:
            return self.encode(self.documents.texts.take(places + block.start))

        found = isolate(encode_some, len(block)).moved(block.start)
        first, last = self.documents.ids[block.start], self.documents.ids[block.stop - 1]
        refuse_hopeless(found, self._goes_through, self.alive, f"documents '{first}' to '{last}'")
        return found

    def alive(self) -> bool:
        return any(map(self._goes_through, spread(len(self.documents))))

    def _goes_through(self, number: int) -> bool:
        try:
            self.encode(self.documents.texts.take([number]))
        except Unscorable:
            return False
        return True
