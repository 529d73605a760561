"""Relevance judgements by query: checked once, then handed out for some queries at a time."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from surecut.arrays import Bool, Int64
from surecut.candidates import counts_by_query, offsets_of
from surecut.errors import InputError
from surecut.listing import Listed, as_numbers, first_repeated, grouped

QREL_COLUMNS = ("query_id", "doc_id", "relevance")
LARGEST_GRADE = 2**31 - 1


class Judgements:
    """Graded documents of many queries; negative grades are 0."""

    def __init__(self, qrels: pl.DataFrame) -> None:
        """From query_id doc_id relevance; a null grade is none."""
        self._listed = _unique(grouped(_whole(qrels.drop_nulls("relevance").select(QREL_COLUMNS))))
        self._names = np.array([*self._listed.queries, ""], dtype=object)  # the last for a query that is not judged
        self._lengths = np.append(np.diff(self._listed.offsets), 0)  # likewise

    @property
    def queries(self) -> list[str]:
        return self._listed.queries

    @property
    def negative(self) -> int:
        """How many grades are below 0."""
        return int((self._listed.frame["relevance"] < 0).sum())

    def places(self, queries: Sequence[str] | pl.Series) -> Int64:
        """Where each of these queries stands among the judged ones; -1 for one that is not judged."""
        known = pl.DataFrame({"query": pl.Series(self.queries, dtype=pl.String)}).with_row_index("place")
        asked = pl.DataFrame({"query": pl.Series(queries, dtype=pl.String)})
        found = asked.join(known, on="query", how="left", maintain_order="left")["place"]
        return found.cast(pl.Int64).fill_null(-1).to_numpy()

    def relevant(self, places: Int64) -> Bool:
        """For which of the queries at these places is there a relevant document?"""
        relevant = counts_by_query((self._listed.frame["relevance"] > 0).to_numpy(), self._listed.offsets) > 0
        found: Bool = (places >= 0) & np.append(relevant, False)[places]
        return found

    def about(self, places: Int64) -> Listed:
        """The judgements of the queries at these places, in their order; one that is not judged has none."""
        lengths = self._lengths[places]
        taken = offsets_of(lengths)
        rows = np.arange(taken[-1]) + np.repeat(self._listed.offsets[places] - taken[:-1], lengths)
        return Listed(self._names[places].tolist(), taken, self._listed.frame[rows])


def _whole(qrels: pl.DataFrame) -> pl.DataFrame:
    """Grades as whole numbers; others are refused."""
    whole = refuse_odd_grades(qrels["query_id"], qrels["relevance"], qrels["doc_id"])
    return qrels.with_columns(whole.cast(pl.Int64).alias("relevance"))


def refuse_odd_grades(queries: pl.Series, grades: pl.Series, documents: pl.Series | None = None) -> pl.Series:
    """Grades as numbers, once it is clear that they are whole ones."""
    whole = as_numbers(grades, strict=False)
    odd = whole.is_null() | (whole != whole.floor()) | (whole.abs() > LARGEST_GRADE)
    odd = odd.fill_null(True) | whole.is_nan()
    if odd.any():
        row = int(odd.arg_max() or 0)
        document = "" if documents is None else f", document '{documents[row]}'"
        raise InputError(
            f"query '{queries[row]}'{document}: the grade '{grades[row]}' is not a whole number of 32 bits (leave it "
            "empty, or out, where nobody judged)"
        )
    return whole


def _unique(listed: Listed) -> Listed:
    """Each document once for a query; the same line twice is harmless, two grades are not."""
    if first_repeated(listed) is None:
        return listed
    owners = pl.Series("query_id", listed.queries, dtype=pl.String).gather(listed.owners)
    once = listed.frame.with_columns(owners).unique(QREL_COLUMNS, maintain_order=True)
    clash = once.filter(pl.struct("query_id", "doc_id").is_duplicated())
    if clash.height:
        raise InputError(
            f"the judgements have two different grades for query '{clash['query_id'][0]}', document "
            f"'{clash['doc_id'][0]}': keep one of them"
        )
    return grouped(once)


def refuse_no_judgements(judgements: Judgements) -> None:
    if not judgements.queries:
        raise InputError(
            "there are no judgements in what was given as such: leave it out, or give the one that has them"
        )
