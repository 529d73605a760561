"""Finding documents of one list in another, query by query, through two 64-bit hashes of their ids."""

import numpy as np
import numpy.typing as npt

from surecut.arrays import Float32, Float64, Int64
from surecut.kernels.jit import kernel
from surecut.kernels.lists import longest_list

Hashes = npt.NDArray[np.uint64]


@kernel
def match_rows(
    offsets: Int64,
    hashes: Hashes,
    more_hashes: Hashes,
    other_low: Int64,
    other_high: Int64,
    other_hashes: Hashes,
    other_more: Hashes,
) -> tuple[Int64, int, int]:
    """For each row of the other list, the row here with the same document in the same query, or -1.

    A document is known by two 64-bit hashes: that two ids share both is out of the question. Query `q` is
    `other_low[q]` to `other_high[q]` over there. Also returns two rows here that are one document of one query
    (-1, -1 if none are).
    """
    matched = np.full(other_hashes.size, -1, np.int64)
    longest = longest_list(offsets)
    slots = 2
    while slots < 8 * longest:  # few share a slot
        slots *= 2
    mask = np.uint64(slots - 1)
    held = np.full(slots, -1, np.int64)  # a row, once it is one of the query at hand
    first_twin = -1
    second_twin = -1
    for q in range(offsets.size - 1):
        low = offsets[q]
        listed = hashes[low : offsets[q + 1]]
        for i in range(listed.size):
            slot = listed[i] & mask
            here = held[slot]
            while here >= low:
                if hashes[here] == listed[i] and more_hashes[here] == more_hashes[low + i] and first_twin < 0:
                    first_twin = here
                    second_twin = low + i
                slot = (slot + np.uint64(1)) & mask
                here = held[slot]
            held[slot] = low + i
        for row in range(other_low[q], other_high[q]):
            slot = other_hashes[row] & mask
            while held[slot] >= low:
                here = held[slot]
                if hashes[here] == other_hashes[row] and more_hashes[here] == other_more[row]:
                    matched[row] = here
                    break
                slot = (slot + np.uint64(1)) & mask
    return matched, first_twin, second_twin


@kernel
def place_scores(matched: Int64, given: Float64, size: int) -> tuple[Float64, int, int]:
    """Scores of the rows here from the rows over there; nan where there is none.

    Also returns how many rows over there are not here, and the first one that repeats another (-1 if none does).
    """
    scores = np.full(size, np.nan)
    extra = 0
    repeated = -1
    for row in range(matched.size):
        here = matched[row]
        if here < 0:
            extra += 1
        elif repeated < 0 and not np.isnan(scores[here]):
            repeated = row
        else:
            scores[here] = given[row]
    return scores, extra, repeated


@kernel
def descending_order(scores: Float32, offsets: Int64) -> Int64:
    """Rows in descending score within each query; equal scores stay in the order given."""
    order = np.empty(scores.size, np.int64)
    for q in range(offsets.size - 1):
        low, high = offsets[q], offsets[q + 1]
        order[low:high] = low + np.argsort(-scores[low:high], kind="mergesort")
    return order
