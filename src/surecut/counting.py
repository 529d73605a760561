"""What was read and what was left out, and how much of what users would see was ever judged."""

from collections.abc import Mapping
from typing import Any

from surecut.arrays import Float64
from surecut.candidates import UNJUDGED, Candidates

_LOW_SHARE = 0.2


def census(data: Candidates, final: Float64 | None, k: int, judgements_used: bool = True) -> dict[str, Any]:
    """What was read, what was left out, and how much of the final top k was ever judged."""
    counts: dict[str, Any] = {
        "queries": len(data),
        "candidates": int(data.retriever.size),
        "unjudged_queries": int((~data.judged).sum()),
        "absent_queries": data.census.absent_queries,
        "absent_as_zero": data.census.absent_as_zero,
        "queries_without_relevant": data.without_relevant,
        "negative_grades": data.census.negative_grades,
        "extra_reranked": data.census.extra_reranked,
        "filled_reranked": data.census.filled_reranked,
        "judgements_used": judgements_used,
        "judged_share": None,
    }
    if final is not None and data.judged.any() and judgements_used:
        from surecut.kernels.measures import mark_top

        top = mark_top(final, data.offsets, k).astype(bool)
        rows = top & data.judged.repeat(data.lengths)
        counts["judged_share"] = float((data.grades[rows] != UNJUDGED).mean()) if rows.any() else None
        counts["judged_depth"] = k
    return counts


def thin_judgements(counts: Mapping[str, Any]) -> str | None:
    """A warning where little of what users would see was ever judged."""
    share = counts["judged_share"]
    if share is None or share >= _LOW_SHARE:
        return None
    return (
        f"only {share:.1%} of the final top {counts['judged_depth']} is judged; the claim is about the judgements you "
        "have, and unjudged documents count as not relevant"
    )
