"""Bytes that digests are made of: the numbers of each query side by side in one stretch of memory."""

import numpy as np
import numpy.typing as npt

from surecut.arrays import Bool, Bytes, Int64
from surecut.kernels.jit import kernel

Words = npt.NDArray[np.uint32]

_ZERO, _SPACE = 48, 32
_WORD = 4  # bytes
_LONGEST_NAME_HEAD = 21  # a number of up to 20 digits, and a space
_LONGEST_TAIL = 72  # three numbers of up to 20 digits, two spaces, and room to begin the next query at a word


@kernel
def copy_words(source: Words, low: int, high: int, target: Words, at: int) -> int:
    """Copy some words, and return where the next ones go."""
    target[at : at + high - low] = source[low:high]
    return at + high - low


@kernel
def write_number(number: int, target: Bytes, at: int) -> int:
    """Write a number of at least 0 in decimal digits."""
    digits = 1
    rest = number // 10
    while rest > 0:
        digits += 1
        rest //= 10
    for place in range(digits - 1, -1, -1):
        target[at + place] = _ZERO + number % 10
        number //= 10
    return at + digits


@kernel
def pack_queries(
    retriever: Words,
    reranker: Words,
    reranker_width: int,
    offsets: Int64,
    judgements: Words,
    judgement_offsets: Int64,
    missed: Words,
    missed_offsets: Int64,
    groups: Bytes,
    group_offsets: Int64,
    judged: Bool,
) -> tuple[Bytes, Int64, Int64]:
    """What a digest of each query is over, with where each begins and ends: scores, judgements, group, counts.

    Widths are in words: one for a retriever's score, `reranker_width` for a reranker's, four for a judgement (rank and
    grade), two for a missed grade.
    """
    queries = offsets.size - 1
    words = retriever.size + reranker.size + judgements.size + missed.size
    packed = np.empty((words * _WORD + groups.size + queries * _LONGEST_TAIL) // _WORD + 1, np.uint32)
    as_bytes = packed.view(np.uint8)
    starts = np.zeros(queries, np.int64)
    ends = np.zeros(queries, np.int64)
    word = np.int64(0)
    for q in range(queries):
        starts[q] = word * _WORD
        low, high = offsets[q], offsets[q + 1]
        word = copy_words(retriever, low, high, packed, word)
        word = copy_words(reranker, reranker_width * low, reranker_width * high, packed, word)
        word = copy_words(judgements, 4 * judgement_offsets[q], 4 * judgement_offsets[q + 1], packed, word)
        word = copy_words(missed, 2 * missed_offsets[q], 2 * missed_offsets[q + 1], packed, word)
        at = word * _WORD
        for place in range(group_offsets[q], group_offsets[q + 1]):
            as_bytes[at] = groups[place]
            at += 1
        at = write_number(high - low, as_bytes, at)
        as_bytes[at] = _SPACE
        at = write_number(judgement_offsets[q + 1] - judgement_offsets[q], as_bytes, at + 1)
        as_bytes[at] = _SPACE
        at = write_number(np.int64(judged[q]), as_bytes, at + 1)
        ends[q] = at
        word = (at + _WORD - 1) // _WORD
    return as_bytes, starts, ends


@kernel
def pack_names(names: Bytes, lengths: Int64, digests: Bytes, order: Int64) -> Bytes:
    """For each query its name (how long, a space, the name) and its digest; names lie in order, digests do not."""
    width = digests.shape[1]
    packed = np.empty(names.size + lengths.size * (width + _LONGEST_NAME_HEAD), np.uint8)
    name = np.int64(0)
    at = np.int64(0)
    for q in range(lengths.size):
        at = write_number(lengths[q], packed, at)
        packed[at] = _SPACE
        at += 1
        packed[at : at + lengths[q]] = names[name : name + lengths[q]]
        name += lengths[q]
        at += lengths[q]
        packed[at : at + width] = digests[order[q]]
        at += width
    return packed[:at]
