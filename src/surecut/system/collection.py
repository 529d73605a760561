"""A collection ready to be searched: its documents on disk, the queries to score, their judgements."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from surecut.candidates import hashed
from surecut.errors import InputError
from surecut.system.cache import built, digest
from surecut.system.sources import Source
from surecut.system.texts import TextStore, write_store

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

        return TextStore(built("documents", digest(self.source.identity()), build))

    @cached_property
    def qrels(self) -> pl.DataFrame | None:
        return self.source.qrels()

    @cached_property
    def queries(self) -> Queries:
        """The judged queries, or all of them where there are no judgements, in a fixed order."""
        judged = None if self.qrels is None else set(self.qrels["query_id"].unique())
        where = self.source.queries_name
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
        if not ids:
            raise InputError(f"{where}: none of the {len(seen):,} queries is judged; do the ids match?")
        order = np.argsort(hashed(ids, _SAMPLE_SALT), kind="stable")[: self.sample]
        return Queries([ids[i] for i in order], [texts[i] for i in order])
