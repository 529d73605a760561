"""The first stage: every query's candidates, found group by group and kept on disk until they are reranked.

What a retriever finds may depend, in the last bits, on the queries it is asked for together, so a group is searched for
as a whole, once, whoever does it; in parts only where one of its queries fails, or ends its worker.
"""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from surecut.arrays import Int64
from surecut.candidates import offsets_of
from surecut.errors import Unscorable
from surecut.files import write_atomically
from surecut.ordering import as_float32
from surecut.runners import LOCAL, Runner
from surecut.system.cache import intact
from surecut.system.collection import Queries
from surecut.system.isolating import blamed_on_texts, halves, isolate, refuse_hopeless, spread
from surecut.system.retrievers import Retriever, take_up
from surecut.system.texts import TextStore
from surecut.system.topk import Hits
from surecut.watching import SILENT, Watch

_NOTHING = Hits(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32))


@dataclass(frozen=True, eq=False)
class Found:
    """The candidates of a group of queries; and why some, by their numbers, could not be searched for."""

    group: range
    hits: list[Hits]
    reasons: dict[int, str]

    def about(self, queries: range) -> "Found":
        """Some of the queries, that follow each other."""
        hits = self.hits[queries.start - self.group.start : queries.stop - self.group.start]
        return Found(queries, hits, {number: why for number, why in self.reasons.items() if number in queries})

    def save(self, folder: Path) -> None:
        content = io.BytesIO()
        np.savez(
            content,
            ends=np.cumsum([each.documents.size for each in self.hits]),
            documents=np.concatenate([each.documents for each in self.hits]),
            scores=np.concatenate([each.scores for each in self.hits]),
            failed=np.array(list(self.reasons), dtype=np.int64),
            reasons=np.array(list(self.reasons.values()), dtype=np.str_),
        )
        write_atomically(found_file(folder, self.group), content.getvalue())

    @classmethod
    def load(cls, folder: Path, group: range) -> "Found":
        with intact(folder), np.load(found_file(folder, group)) as kept:
            edges = pairwise(offsets_of(np.diff(kept["ends"], prepend=0)).tolist())
            documents, scores = kept["documents"], kept["scores"]
            hits = [Hits(documents[low:high], scores[low:high]) for low, high in edges]
            return cls(group, hits, dict(zip(kept["failed"].tolist(), kept["reasons"].tolist(), strict=True)))


def found_file(folder: Path, group: range) -> Path:
    return folder / f"found-{group.start:09d}-{group.stop:09d}.npz"


@dataclass(frozen=True)
class Searcher:
    """Searches for groups of queries, wherever it is: called, it loads the index."""

    retriever: Retriever
    queries: Queries
    documents: Path
    index: Path
    depth: int

    def __call__(self) -> "Searching":
        documents = TextStore(self.documents)
        take_up(self.retriever, self.index, documents)
        return Searching(self.retriever, self.queries, len(documents), self.depth)

    def divided(self, group: range) -> list[range]:
        return halves(group)

    def joined(self, made: Sequence[Found]) -> Found:
        reasons = {number: reason for each in made for number, reason in each.reasons.items()}
        group = range(made[0].group.start, made[-1].group.stop)
        return Found(group, [hits for each in made for hits in each.hits], reasons)

    def given_up(self, group: range, reason: str) -> Found:
        """No candidates for its query."""
        return Found(group, [_NOTHING] * len(group), dict.fromkeys(group, reason))


@dataclass(frozen=True, eq=False)
class Searching:
    """The retriever, ready."""

    retriever: Retriever
    queries: Queries
    documents: int
    depth: int

    def __call__(self, group: range) -> Found:
        """A query that the retriever fails on has no candidates."""

        def search(places: Int64) -> list[Hits]:
            return self._search((places + group.start).tolist(), self.depth)

        found = isolate(search, len(group)).moved(group.start)
        first, last = self.queries.ids[group.start], self.queries.ids[group.stop - 1]
        refuse_hopeless(found, self._goes_through, self.alive, f"queries '{first}' to '{last}'")
        return Found(group, [found.made.get(number, _NOTHING) for number in group], found.reasons)

    def alive(self) -> bool:
        return any(map(self._goes_through, spread(len(self.queries))))

    def _search(self, numbers: Sequence[int], depth: int) -> list[Hits]:
        asked = Queries([self.queries.ids[n] for n in numbers], [self.queries.texts[n] for n in numbers])
        with blamed_on_texts():
            hits = [_as_hits(each.documents, each.scores) for each in self.retriever.search(asked, depth)]
        if len(hits) != len(numbers):
            raise Unscorable(f"the retriever gave {len(hits)} lists for {len(numbers)} queries")
        for each in hits:
            self._refuse_odd(each, depth)
        return hits

    def _refuse_odd(self, hits: Hits, depth: int) -> None:
        """Lists that no table could hold; one's own retriever may give them."""
        numbers = hits.documents
        if numbers.shape != hits.scores.shape or numbers.size > depth:
            what = f"{numbers.size} documents with {hits.scores.size} scores, where {depth} at most were asked for"
        elif numbers.size and not 0 <= numbers.min() <= numbers.max() < self.documents:
            what = f"documents {numbers.min()} to {numbers.max()}, and there are {self.documents:,} from 0 on"
        elif np.unique(numbers).size < numbers.size:
            what = "a document twice"
        elif not np.isfinite(hits.scores).all():
            what = "a score that is not a finite number"
        else:
            return
        raise Unscorable(f"the retriever gave {what}")

    def _goes_through(self, number: int) -> bool:
        try:
            self._search([number], 1)
        except Unscorable:
            return False
        return True


def _as_hits(documents: Any, scores: Any) -> Hits:
    return Hits(np.asarray(documents, dtype=np.int64), as_float32(np.asarray(scores)))


def search_groups(
    searcher: Searcher, groups: Sequence[range], folder: Path, watch: Watch = SILENT, runner: Runner = LOCAL
) -> None:
    """Search for the queries of all groups, and keep what is found; groups that are there already are left alone."""
    folder.mkdir(parents=True, exist_ok=True)
    missing = [group for group in groups if not found_file(folder, group).exists()]
    total = sum(map(len, groups))
    watch.stage("retrieving", total, total - sum(map(len, missing)))
    for place, found in runner.infer(searcher, missing):
        found.save(folder)
        watch.advance(len(missing[place]))
