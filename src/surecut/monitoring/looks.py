"""When a recalibration may look at the feedback, and with how much of delta.

Calibrating again on a grown sample is another look at it. So the looks are declared before any feedback is seen:
look i is at the first `first_look` 2^(i-1) complete queries of a period, and tests at delta / 2^i. Over all looks that
adds up to at most delta, whenever somebody chooses to look, and looking twice at the same look changes nothing.
"""

from dataclasses import dataclass

from surecut.candidates import Candidates


@dataclass(frozen=True, eq=False)
class Look:
    """A look at the complete queries of a period: which one, and what there is to see."""

    period: int
    number: int
    tune_fraction: float
    data: Candidates


def queries_of(look: int, first_look: int) -> int:
    """The queries that a look (1, 2, ...) is at."""
    return int(first_look * 2 ** (look - 1))


def looks_reached(complete: int, first_look: int) -> int:
    """The last look whose queries have come in; 0 if not even those of the first have."""
    return (complete // first_look).bit_length()
