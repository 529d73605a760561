"""Documents in blocks: each is encoded and kept by itself, in whatever order they are done."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from surecut.arrays import Int64
from surecut.errors import Unscorable
from surecut.system.isolating import Isolated, isolate, refuse_hopeless
from surecut.system.texts import TextStore

T = TypeVar("T")
_SIZE = 512


def blocks_of(count: int) -> list[range]:
    """All documents by their numbers."""
    return [range(start, min(start + _SIZE, count)) for start in range(0, count, _SIZE)]


def encoded(encode: Callable[[list[str]], Sequence[T]], block: range, documents: TextStore) -> Isolated[T]:
    """What a model makes of each document of a block, by its number; and why it fails on some."""

    def encode_some(places: Int64) -> Sequence[T]:
        return encode(documents.texts.take(places + block.start))

    def goes_through(number: int) -> bool:
        try:
            encode(documents.texts.take([number]))
        except Unscorable:
            return False
        return True

    found = isolate(encode_some, len(block)).moved(block.start)
    if not found.made:
        refuse_hopeless(found.reasons[block.start], len(documents), goes_through)
    return found
