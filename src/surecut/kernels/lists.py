"""What many kernels ask of lists that lie one after the other."""

from surecut.arrays import Int64
from surecut.kernels.jit import kernel


@kernel
def longest_list(offsets: Int64) -> int:
    """How long the longest list is; 1 if there is none."""
    longest = 1
    for q in range(offsets.size - 1):
        longest = max(longest, offsets[q + 1] - offsets[q])
    return longest
