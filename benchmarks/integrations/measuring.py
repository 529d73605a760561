"""Full and pruned calls of the same queries, taking turns."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.integrations.libraries import Library, Ranked
from benchmarks.integrations.system import Asked, System
from benchmarks.timing import fastest


@dataclass(frozen=True)
class Measured:
    """Milliseconds a query of one library, and what both lists are worth."""

    name: str
    full: float
    prune: float
    pruned: float
    quality_full: float
    quality_pruned: float

    @property
    def overhead(self) -> float:
        return self.prune / self.full

    @property
    def saved(self) -> float:
        return self.full / self.pruned


def measure(library: Library, system: System) -> Measured:
    """Means over the held-out queries; pruning alone, which takes microseconds, is the best of several.

    It comes first, so that nothing is compiled for the first time in the calls that are timed.
    """
    given = [library.given(each) for each in system.asked]
    alone = [
        fastest(lambda each=each, made=made: library.prune(each, made), repeats=5, number=5)[0]  # type: ignore[misc]
        for each, made in zip(system.asked, given, strict=True)
    ]
    library.full(system.asked[0], library.given(system.asked[0]))
    library.pruned(system.asked[0], library.given(system.asked[0]))
    times: dict[str, list[float]] = {"full": [], "pruned": []}
    lists: dict[str, list[Ranked]] = {"full": [], "pruned": []}
    for place, each in enumerate(system.asked):
        for kind in ("full", "pruned") if place % 2 else ("pruned", "full"):
            found, seconds = _timed(getattr(library, kind), each, library.given(each))
            times[kind].append(seconds)
            lists[kind].append(found)
    return Measured(
        library.name,
        1000 * float(np.mean(times["full"])),
        1000 * float(np.mean(alone)),
        1000 * float(np.mean(times["pruned"])),
        *(_reciprocal_rank(system, lists[kind]) for kind in ("full", "pruned")),
    )


def _timed(work: Callable[..., Ranked], each: Asked, made: Any) -> tuple[Ranked, float]:
    start = time.perf_counter()
    found = work(each, made)
    return found, time.perf_counter() - start


def _reciprocal_rank(system: System, lists: list[Ranked]) -> float:
    """Mean RR@10."""
    ranks = [
        next((1 / rank for rank, name in enumerate(listed[:10], 1) if name in each.relevant), 0.0)
        for each, listed in zip(system.asked, lists, strict=True)
    ]
    return float(np.mean(ranks))
