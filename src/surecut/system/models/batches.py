"""Texts through a model: grouped by length, spread over the cores, handed back in the order they came."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import numpy as np

from surecut.arrays import Array, Int64
from surecut.errors import InputError
from surecut.system.models.tokens import Batch, Tokens


class Model(Protocol):
    """A network: tokens in, one array out."""

    batch_size: int
    workers: int

    def __call__(self, batch: Batch) -> Array: ...


def refuse_batch_size(size: int | None) -> None:
    if size is not None and size < 1:
        raise InputError(f"batch_size = {size}: at least 1 is expected")


def run(model: Model, tokens: Tokens, finish: Callable[[Array, Batch], Array]) -> Array:
    """finish(model's output, batch) for all texts, one row a text."""
    groups = list(_groups(tokens.lengths(), model.batch_size))

    def compute(places: Int64) -> Array:
        batch = tokens.batch(places.tolist())
        return finish(model(batch), batch)

    if model.workers > 1 and len(groups) > 1:
        with ThreadPoolExecutor(model.workers) as pool:
            parts = list(pool.map(compute, groups))
    else:
        parts = [compute(places) for places in groups]
    order = np.concatenate(groups)
    rows = np.concatenate(parts)
    result = np.empty_like(rows)
    result[order] = rows
    return result


def _groups(lengths: Int64, size: int) -> Iterator[Int64]:
    """Longest first, so that neighbours are of like length and no worker ends late."""
    order = np.argsort(-lengths, kind="stable")
    for start in range(0, order.size, size):
        yield order[start : start + size]
