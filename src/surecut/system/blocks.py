"""Documents in blocks: each is encoded and kept by itself, in whatever order they are done."""

from pathlib import Path

from surecut.errors import Unscorable
from surecut.system.isolating import keep_reasons
from surecut.system.texts import TextStore

_SIZE = 512
_FEW = 8  # documents that may all be to blame


def blocks_of(count: int) -> list[range]:
    """All documents by their numbers. A few that are left over go with the last block: see `keep_failed`."""
    starts = range(0, max(count - _FEW, min(count, 1)), _SIZE)
    return [range(start, count if start == starts[-1] else start + _SIZE) for start in starts]


def keep_failed(folder: Path, block: range, reasons: dict[int, str], documents: TextStore) -> None:
    """Note which documents of a block cannot be encoded; where it is all of them, the model is to blame."""
    if block and len(reasons) == len(block):
        first, last = documents.ids[block.start], documents.ids[block.stop - 1]
        raise Unscorable(f"documents '{first}' to '{last}': {reasons[block.start]}")
    keep_reasons(folder, block, reasons)
