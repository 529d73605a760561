"""Counting keys by their bits, to find the n-th largest of more of them than fit in memory."""

import numpy as np

from surecut.arrays import Float64, Int64, UInt64
from surecut.kernels.jit import kernel

BITS = 16
_ALL = 64


@kernel
def count_digits(
    keys: Float64, offsets: Int64, min_keep: int, max_keep: int, shift: int, prefixes: UInt64, counts: Int64
) -> None:
    """Count the keys that a threshold may prune by 16 bits of their place among all 64-bit floats.

    Those bits begin at `shift`; row `p` of `counts` is about keys whose higher bits are `prefixes[p]`.
    """
    bits = keys.view(np.uint64)
    sign = np.uint64(1) << np.uint64(63)
    below, above = np.uint64(shift), np.uint64(shift + BITS)
    for q in range(offsets.size - 1):
        low = offsets[q]
        for row in range(low + min_keep, min(low + max_keep, offsets[q + 1])):
            place = ~bits[row] if bits[row] & sign else bits[row] | sign
            digit = (place >> below) & np.uint64((1 << BITS) - 1)
            for p in range(prefixes.size):
                if shift + BITS == _ALL or place >> above == prefixes[p]:
                    counts[p, digit] += 1
