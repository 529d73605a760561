"""What was read and what was left out, and how much of what users would see was ever judged."""

from collections.abc import Mapping
from typing import Any

from surecut.lists import Lists
from surecut.reducing import Reduced

_LOW_SHARE = 0.2


def census(
    data: Lists, used: Reduced | None, judgements_used: bool = True, filled: int | None = None
) -> dict[str, Any]:
    """What was read and what was left out; and how much of the final top k of the lists that were used was judged.

    `filled` candidates without a reranker score were placed last, where `used` does not say so.
    """
    counts: dict[str, Any] = {
        "queries": len(data),
        "candidates": int(data.lengths.sum()),
        "unjudged_queries": int((~data.judged).sum()),
        "absent_queries": data.census.absent_queries,
        "absent_as_zero": data.census.absent_as_zero,
        "queries_without_relevant": data.without_relevant,
        "negative_grades": data.census.negative_grades,
        "extra_reranked": data.census.extra_reranked,
        "filled_reranked": used.filled if used is not None else filled or data.census.filled_reranked,
        "judgements_used": judgements_used,
        "judged_share": None,
    }
    if used is not None and data.judged.any() and judgements_used:
        counts["judged_share"] = used.top_judged / used.top_of_all if used.top_of_all else None
        counts["judged_depth"] = used.top
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
