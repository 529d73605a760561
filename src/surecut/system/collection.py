"""A collection ready to be searched: its documents on disk, the queries to score, their judgements."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from surecut.candidates import hashed
from surecut.errors import InputError
from surecut.system.cache import built, digest, intact
from surecut.system.sources import Source
from surecut.system.texts import TextStore, write_store

_FORMAT = 1  # of the store, and of how a record becomes a text: another one is built anew
_SAMPLE_SALT = b"surecut sample "


@dataclass(frozen=True)
class Queries:
    """Queries in a fixed order."""

    ids: Sequence[str]
    texts: Sequence[str]

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, part: slice) -> "Queries":
        return Queries(self.ids[part], self.texts[part])


@dataclass(frozen=True)
class Collection:
    """What a two-stage system searches, and what it is judged by."""

    source: Source
    sample: int | None = None  # so many queries, chosen by a hash of their ids

    @cached_property
    def documents(self) -> TextStore:
        def build(folder: Path) -> None:
            write_store(self.source.documents(), folder, self.source.name)

        folder = built("documents", digest(_FORMAT, self.source.identity()), build)
        with intact(folder):
            return TextStore(folder)

    @cached_property
    def qrels(self) -> pl.DataFrame | None:
        """The judgements, each once; two that contradict each other are refused."""
        qrels = self.source.qrels()
        if qrels is None:
            return None
        once = qrels.unique(maintain_order=True)
        twice = once.filter(pl.struct("query_id", "doc_id").is_duplicated())
        if twice.height:
            query, document, _ = twice.row(0)
            raise InputError(
                f"{self.source.name}: the judgements give document '{document}' two grades for query '{query}'"
            )
        return once

    @cached_property
    def queries(self) -> Queries:
        """The judged queries, or all of them where there are no judgements, in a fixed order."""
        ids, texts = self._asked
        order = np.argsort(hashed(ids, _SAMPLE_SALT), kind="stable")[: self.sample]
        return Queries([ids[i] for i in order], [texts[i] for i in order])

    @property
    def judged_without_text(self) -> int:
        """Judged queries that the collection does not have."""
        return 0 if self.qrels is None else self.qrels["query_id"].n_unique() - len(self._asked[0])

    @cached_property
    def _asked(self) -> tuple[list[str], list[str]]:
        where = self.source.queries_name
        judged = None if self.qrels is None else set(self.qrels["query_id"].unique())
        ids: list[str] = []
        texts: list[str] = []
        seen: set[str] = set()
        for query in self.source.queries():
            if query.id in seen:
                raise InputError(f"{where}: two queries have the id '{query.id}'")
            seen.add(query.id)
            if judged is not None and query.id not in judged:
                continue
            if not query.text:
                raise InputError(f"{where}: query '{query.id}' has no text; give it one, or leave it out")
            ids.append(query.id)
            texts.append(query.text)
        if not seen:
            raise InputError(f"{where}: no queries")
        if not ids:
            raise InputError(f"{where}: none of the {len(seen):,} queries is judged; do the ids match?")
        return ids, texts
