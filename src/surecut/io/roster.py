"""The queries of a score table, all of them, before any list is read."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from surecut.alignment import Absent, unseen_queries
from surecut.arrays import Bool, Int64, Strings
from surecut.candidates import Census, unit_names
from surecut.errors import InputError
from surecut.io.parts import Part, agreeing
from surecut.judgements import Judgements


@dataclass(frozen=True, eq=False)
class Roster:
    """How long each query's list is, and what is known of its judgements."""

    query_ids: Strings
    lengths: Int64
    judged: Bool
    relevant: Bool  # is any document relevant to it?
    places: Int64  # of each query among the judgements; -1 where there are none, or in a column of the lists
    groups: Strings | None = None


def enrolled(parts: Sequence[Part], judgements: Judgements | None, absent: Absent) -> tuple[Roster, Census]:
    """The queries of all parts, in their order; those that count as 0 without a list come last."""
    names = pl.concat([part.queries for part in parts])
    lengths = np.concatenate([part.lengths for part in parts])
    if judgements is None:
        judged, relevant = (np.concatenate([getattr(part, each) for part in parts]) for each in ("judged", "relevant"))
        census = Census(negative_grades=sum(part.negative for part in parts))
        places = np.full(len(names), -1)
        _refuse_shared(parts, names, places)
    else:
        places = judgements.places(names)
        _refuse_shared(parts, names, places)
        unseen = unseen_queries(names, judgements, places)
        census = Census(negative_grades=judgements.negative, absent_queries=unseen.size)
        if absent == "zero":
            census = Census(negative_grades=judgements.negative, absent_as_zero=unseen.size)
            names = pl.concat((names, pl.Series(judgements.queries, dtype=pl.String).gather(unseen)))
            lengths = np.concatenate((lengths, np.zeros(unseen.size, dtype=np.int64)))
            places = np.concatenate((places, unseen))
        judged, relevant = places >= 0, judgements.relevant(places)
    ids = names.to_numpy()
    return Roster(ids, lengths, judged, relevant, places, _groups(ids, parts)), census


def _groups(query_ids: Strings, parts: Sequence[Part]) -> Strings | None:
    if "group" not in parts[0].columns:
        return None
    named: dict[str, str] = {}
    for part in parts:
        named |= agreeing(named, part.groups)
    return unit_names(query_ids, named)


def _refuse_shared(parts: Sequence[Part], names: pl.Series, places: Int64) -> None:
    """A query with rows in two parts would be read as two. Judged ones are known by their places: that is quicker."""
    unjudged = names.filter(pl.Series(places < 0))
    if np.bincount(places[places >= 0]).max(initial=0) <= 1 and unjudged.n_unique() == len(unjudged):
        return
    twice = names.filter(names.is_duplicated())[0]
    first, second = [part.path for part in parts if (part.queries == twice).any()][:2]
    raise InputError(
        f"{second}: query '{twice}' is in {first.name} too; write all rows of a query into one part (sort them by "
        "query_id before they are divided)"
    )
