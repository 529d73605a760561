"""The first stage: every query's candidates, found group by group and kept on disk until they are reranked.

What a retriever finds may depend, in the last bits, on the queries it is asked for together, so a group is searched for
as a whole, once, whoever does it.
"""

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from surecut.arrays import Int64
from surecut.candidates import offsets_of
from surecut.errors import Unscorable
from surecut.files import write_atomically
from surecut.runners import LOCAL, Runner
from surecut.system.cache import intact
from surecut.system.collection import Queries
from surecut.system.isolating import blamed_on_texts, halves, isolate, spread
from surecut.system.retrievers import Retriever, take_up
from surecut.system.texts import TextStore
from surecut.system.topk import Hits
from surecut.watching import SILENT, Watch

_NOTHING = Hits(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32))


@dataclass(frozen=True, eq=False)
class Found:
    """The candidates of queries that follow each other; and why some, by their numbers, could not be searched for."""

    hits: list[Hits]
    reasons: dict[int, str]

    def save(self, folder: Path, group: range) -> None:
        content = io.BytesIO()
        np.savez_compressed(
            content,
            ends=np.cumsum([each.documents.size for each in self.hits]),
            documents=np.concatenate([each.documents for each in self.hits]),
            scores=np.concatenate([each.scores for each in self.hits]),
            failed=np.array(list(self.reasons), dtype=np.int64),
            reasons=np.array(list(self.reasons.values()), dtype=np.str_),
        )
        write_atomically(found_file(folder, group), content.getvalue())

    @classmethod
    def load(cls, folder: Path, group: range) -> "Found":
        with intact(folder), np.load(found_file(folder, group)) as kept:
            edges = pairwise(offsets_of(np.diff(kept["ends"], prepend=0)).tolist())
            documents, scores = kept["documents"], kept["scores"]
            hits = [Hits(documents[low:high], scores[low:high]) for low, high in edges]
            return cls(hits, dict(zip(kept["failed"].tolist(), kept["reasons"].tolist(), strict=True)))


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

    def __call__(self) -> Callable[[range], Found]:
        take_up(self.retriever, self.index, TextStore(self.documents))
        return self._search

    def divided(self, group: range) -> list[range]:
        return halves(group)

    def joined(self, made: Sequence[Found]) -> Found:
        reasons = {number: reason for each in made for number, reason in each.reasons.items()}
        return Found([hits for each in made for hits in each.hits], reasons)

    def given_up(self, group: range, reason: str) -> Found:
        """No candidates for its query."""
        return Found([_NOTHING] * len(group), dict.fromkeys(group, reason))

    def _search(self, group: range) -> Found:
        """A query that the retriever fails on has no candidates."""

        def search(places: Int64) -> list[Hits]:
            numbers = (places + group.start).tolist()
            asked = Queries([self.queries.ids[n] for n in numbers], [self.queries.texts[n] for n in numbers])
            with blamed_on_texts():
                return self.retriever.search(asked, self.depth)

        found = isolate(search, len(group)).moved(group.start)
        if not found.made and not any(self._goes_through(number) for number in spread(len(self.queries))):
            raise Unscorable(f"no query can be searched for any more: {found.reasons[group.start]}")
        return Found([found.made.get(number, _NOTHING) for number in group], found.reasons)

    def _goes_through(self, number: int) -> bool:
        try:
            with blamed_on_texts():
                self.retriever.search(self.queries[number : number + 1], 1)
        except Unscorable:
            return False
        return True


def search_groups(
    searcher: Searcher, groups: Sequence[range], folder: Path, watch: Watch = SILENT, runner: Runner = LOCAL
) -> None:
    """Search for the queries of all groups, and keep what is found; groups that are there already are left alone."""
    folder.mkdir(parents=True, exist_ok=True)
    missing = [group for group in groups if not found_file(folder, group).exists()]
    total = sum(map(len, groups))
    watch.stage("retrieving", total, total - sum(map(len, missing)))
    for place, found in runner.infer(searcher, missing):
        found.save(folder, missing[place])
        watch.advance(len(missing[place]))
