"""Fingerprints of data: one digest a query, and one hash over them in query-id order.

Order and format of the input leave no trace, and digests of parts can be put together in any order. Document ids take
no part: they decide ties, and the order of the scores shows the outcome.
"""

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import xxhash

from surecut.arrays import Array, Bytes

if TYPE_CHECKING:
    from surecut.candidates import Candidates

_NOTHING = np.empty(0, dtype=np.uint32)
_DIGEST_BYTES = xxhash.xxh3_128().digest_size


def query_digests(data: "Candidates") -> Bytes:
    """A hash of each query's scores, relevant grades and group, a row each."""
    from surecut.kernels.packing import pack_queries

    relevant = np.flatnonzero(data.grades > 0)
    found = np.searchsorted(relevant, data.offsets)
    ranks = relevant - np.repeat(data.offsets[:-1], np.diff(found))
    lost = np.flatnonzero(data.missed > 0)
    names = [] if data.groups is None else [group.encode() for group in data.groups]
    packed, starts, ends = pack_queries(
        _words(data.retriever, "<f4"),
        _NOTHING if data.reranker is None else _words(data.reranker, "<f8"),
        0 if data.reranker is None else 2,
        data.offsets,
        _words(np.stack((ranks, data.grades[relevant]), axis=1), "<i8"),
        found,
        _words(data.missed[lost], "<i8"),
        np.searchsorted(lost, data.missed_offsets),
        np.frombuffer(b"".join(names), dtype=np.uint8),
        np.cumsum([0, *map(len, names)]) if names else np.zeros(len(data) + 1, dtype=np.int64),
        data.judged,
    )
    view, digest = packed.data, xxhash.xxh3_128_digest
    digests = [digest(view[start:end]) for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
    return np.frombuffer(b"".join(digests), dtype=np.uint8).reshape(len(data), _DIGEST_BYTES)


def combine_digests(query_ids: Iterable[str], digests: Bytes) -> str:
    """One hash over per-query digests in query-id order (that of their bytes in UTF-8)."""
    import polars as pl

    from surecut.kernels.packing import pack_names

    names = pl.Series(query_ids, dtype=pl.String)
    order = names.arg_sort()
    sorted_names = names.gather(order)
    joined = np.frombuffer(sorted_names.str.join("").item().encode(), dtype=np.uint8)
    lengths = sorted_names.str.len_bytes().cast(pl.Int64).to_numpy()
    return hashlib.blake2b(pack_names(joined, lengths, digests, order.to_numpy()).data, digest_size=16).hexdigest()


def _words(column: Array, kind: str) -> Array:
    """A column as words of 32 bits, little end first wherever this runs."""
    return np.ascontiguousarray(column, dtype=kind).reshape(-1).view("<u4")
