"""Several Candidates of different queries, as one."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from surecut.arrays import Array
from surecut.candidates import Candidates, Census, offsets_of


def joined(parts: Sequence[Candidates]) -> Candidates:
    """One after the other; what is not about single queries is as in the first, and what was changed is added up."""
    first = parts[0]
    if len(parts) == 1:
        return first
    return replace(
        first,
        query_ids=_joined(parts, "query_ids"),
        offsets=offsets_of(np.concatenate([part.lengths for part in parts])),
        retriever=_joined(parts, "retriever"),
        reranker=None if first.reranker is None else _joined(parts, "reranker"),
        grades=_joined(parts, "grades"),
        judged=_joined(parts, "judged"),
        missed=_joined(parts, "missed"),
        missed_offsets=offsets_of(np.concatenate([np.diff(part.missed_offsets) for part in parts])),
        doc_ids=_documents(parts),
        groups=None if first.groups is None else _joined(parts, "groups"),
        census=Census.total(part.census for part in parts),
    )


def _joined(parts: Sequence[Candidates], column: str) -> Array:
    return np.concatenate([getattr(part, column) for part in parts])


def _documents(parts: Sequence[Candidates]) -> Any:
    if parts[0].doc_ids is None:
        return None
    import polars as pl

    return pl.concat([part.doc_ids for part in parts if part.doc_ids is not None], rechunk=True)
