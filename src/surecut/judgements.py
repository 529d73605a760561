"""Relevance judgements by query: checked once, then handed out for some queries at a time."""

from collections.abc import Collection, Sequence
from functools import cached_property

import numpy as np
import polars as pl

from surecut.arrays import Bool, Int64
from surecut.candidates import counts_by_query, offsets_of
from surecut.errors import InputError
from surecut.listing import Listed, as_numbers, grouped

QREL_COLUMNS = ("query_id", "doc_id", "relevance")
LARGEST_GRADE = 2**31 - 1


class Judgements:
    """Graded documents of many queries; negative grades are 0."""

    def __init__(self, qrels: pl.DataFrame) -> None:
        """From query_id doc_id relevance."""
        self.listed = grouped(_unique(qrels))

    @property
    def queries(self) -> list[str]:
        return self.listed.queries

    @property
    def negative(self) -> int:
        """How many grades are below 0."""
        return int((self.listed.frame["relevance"] < 0).sum())

    @cached_property
    def _place(self) -> dict[str, int]:
        return self.listed.place()

    @cached_property
    def _relevant(self) -> Bool:
        return counts_by_query((self.listed.frame["relevance"] > 0).to_numpy(), self.listed.offsets) > 0

    def places(self, queries: Sequence[str]) -> Int64:
        """Where each of these queries stands among the judged ones; -1 for one that is not judged."""
        return np.array([self._place.get(query, -1) for query in queries], dtype=np.int64)

    def relevant(self, queries: Sequence[str]) -> Bool:
        """For which of these queries is there a relevant document?"""
        places = self.places(queries)
        found: Bool = (places >= 0) & self._relevant[places]
        return found

    def about(self, queries: Sequence[str]) -> Listed:
        """The judgements of these queries alone, in their order; those without any are left out."""
        places = self.places(queries)
        known = places[places >= 0]
        lengths = np.diff(self.listed.offsets)[known]
        offsets = offsets_of(lengths)
        rows = np.arange(offsets[-1]) + np.repeat(self.listed.offsets[:-1][known] - offsets[:-1], lengths)
        return Listed([self.queries[place] for place in known], offsets, self.listed.frame[rows])

    def not_about(self, queries: Collection[str]) -> list[str]:
        """Judged queries that are none of these."""
        return [query for query in self.queries if query not in queries]


def _unique(qrels: pl.DataFrame) -> pl.DataFrame:
    """Whole-number grades, each pair once; the same line twice is harmless, two grades are not."""
    qrels = qrels.drop_nulls("relevance")
    grade = qrels["relevance"]
    whole = as_numbers(grade, strict=False)
    odd = whole.is_null() | (whole != whole.floor()) | (whole.abs() > LARGEST_GRADE)
    odd = odd.fill_null(True) | whole.is_nan()
    if odd.any():
        row = int(odd.arg_max() or 0)
        raise InputError(
            f"query '{qrels['query_id'][row]}', document '{qrels['doc_id'][row]}': the grade '{grade[row]}' is not a "
            "whole number of 32 bits"
        )
    qrels = qrels.with_columns(whole.cast(pl.Int64).alias("relevance"))
    once = qrels.unique(QREL_COLUMNS, maintain_order=True)
    clash = once.filter(pl.struct("query_id", "doc_id").is_duplicated())
    if clash.height:
        raise InputError(
            f"the judgements have two different grades for query '{clash['query_id'][0]}', document "
            f"'{clash['doc_id'][0]}': keep one of them"
        )
    return once
