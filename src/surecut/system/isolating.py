"""Which of many texts makes a model fail: the others are scored, and it is reported by its id."""

import errno
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np

from surecut.arrays import Int64
from surecut.errors import InputError, NothingGoesThrough, Unscorable
from surecut.files import write_atomically
from surecut.system.texts import TextStore

T = TypeVar("T")
_FAILED = "failed.json"
_OTHERS = 16
_AGAIN = 3  # of what went through: a service that is asked may miss one
_OF_THE_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)


@dataclass(frozen=True)
class Failure:
    """What a model failed on: a query, a document, or a pair of them."""

    query_id: str | None
    doc_id: str | None
    reason: str

    def to_json(self) -> dict[str, str | None]:
        return asdict(self)

    def __str__(self) -> str:
        named = [f"{what} '{each}'" for what, each in (("query", self.query_id), ("document", self.doc_id)) if each]
        return f"{', '.join(named)}: {' '.join(self.reason.split())}"


@dataclass(frozen=True, eq=False)
class Isolated(Generic[T]):
    """What was computed, and why the rest could not be, by place."""

    made: dict[int, T]
    reasons: dict[int, str]

    def moved(self, by: int) -> "Isolated[T]":
        """The same at places further on."""
        made = {place + by: each for place, each in self.made.items()}
        return Isolated(made, {place + by: reason for place, reason in self.reasons.items()})


def isolate(compute: Callable[[Int64], Sequence[T]], count: int) -> Isolated[T]:
    """Compute something for each place below `count`; where that fails twice, for halves, down to single places.

    The halves are the same wherever this runs, so that a model whose last bits depend on the batch gives the same ones.
    """
    made: dict[int, T] = {}
    reasons: dict[int, str] = {}
    waiting = [np.arange(count)] if count else []
    while waiting:
        places = waiting.pop()
        try:
            made.update(zip(places.tolist(), _tried_twice(compute, places), strict=True))
        except Unscorable as error:
            if places.size == 1:
                reasons[int(places[0])] = error.sentence
            else:
                waiting += np.array_split(places, 2)[::-1]
    return Isolated(made, reasons)


@contextmanager
def blamed_on_texts() -> Iterator[None]:
    """Whatever a stage raises is about what it was given; not so refusals, and what is said of a file or a disk.

    A service that a stage asks may not answer: that is tried again, too.
    """
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        if isinstance(error, OSError) and (error.filename is not None or error.errno in _OF_THE_DISK):
            raise
        raise Unscorable(f"{type(error).__name__}: {error}") from error


def halves(places: range) -> list[range]:
    """Both halves; of a single place, or none, there are none."""
    middle = (places.start + places.stop) // 2
    return [] if len(places) < 2 else [range(places.start, middle), range(middle, places.stop)]


def spread(count: int, most: int = _OTHERS) -> list[int]:
    """Some places from all over."""
    return [int(place) for place in np.linspace(0, count - 1, min(count, most))]


def refuse_hopeless(
    found: Isolated[T], goes_through: Callable[[int], bool], others: Callable[[], bool], since: str
) -> None:
    """Texts are to blame only if what went through before still does; where nothing did, others, from all over.

    A model, a device or a service that has gone leaves no failures behind: the next run tries all that again.
    """
    again = islice(found.made, _AGAIN)
    if found.reasons and not (any(map(goes_through, again)) if found.made else others()):
        reason = found.reasons[min(found.reasons)]
        raise NothingGoesThrough(f"nothing goes through any more, since {since}: {reason}")


def read_reasons(folder: Path) -> dict[int, str]:
    """Why documents could not be encoded, by their numbers, as it is kept beside the others."""
    path = folder / _FAILED
    return {int(number): str(reason) for number, reason in json.loads(path.read_text())} if path.exists() else {}


def keep_reasons(folder: Path, some: range, reasons: Mapping[int, str]) -> None:
    """Keep those of some documents beside those of the others."""
    known = read_reasons(folder)
    kept = {number: reason for number, reason in known.items() if number not in some} | dict(reasons)
    if kept != known:
        write_atomically(folder / _FAILED, json.dumps(sorted(kept.items()), ensure_ascii=False))


def failed_documents(reasons: Mapping[int, str], documents: TextStore) -> list[Failure]:
    """The same by the ids of the documents."""
    return [Failure(None, documents.ids[number], reason) for number, reason in sorted(reasons.items())]


def _tried_twice(compute: Callable[[Int64], Sequence[T]], places: Int64) -> Sequence[T]:
    """What fails for want of memory may go through the second time."""
    try:
        return compute(places)
    except Unscorable:
        return compute(places)
