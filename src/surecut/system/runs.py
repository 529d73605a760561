"""Runs of systems that ran elsewhere, as either stage: any TREC run, its documents known by number."""

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from surecut.arrays import Float64, Int64
from surecut.errors import InputError
from surecut.io.trec import read_run
from surecut.system.cache import digest
from surecut.system.describing import Described
from surecut.system.texts import TextStore


@dataclass
class RunFile(Described):
    """What both stages need of a run.

    `system` names what made it, so that a certificate fits every run of that system; without it, this run only.
    """

    run: Path
    system: str | None = None
    _spans: dict[str, tuple[int, int]] = field(default_factory=dict, init=False, repr=False)
    _numbers: Int64 = field(default_factory=lambda: np.empty(0, np.int64), init=False, repr=False)
    _scores: Float64 = field(default_factory=lambda: np.empty(0), init=False, repr=False)

    @cached_property
    def fingerprint(self) -> str:
        if self.system is not None:
            return digest("run", self.system)
        return digest("run", self.content)

    @cached_property
    def content(self) -> str:
        """A hash of the file."""
        if self.run.exists() and not self.run.is_file():  # a device may have no end
            raise InputError(f"{self.run}: is not a file")
        try:
            with self.run.open("rb") as file:
                return hashlib.file_digest(file, "blake2b").hexdigest()
        except OSError as error:
            raise InputError(f"{self.run}: {(error.strerror or 'cannot be read').lower()}") from None

    def read(self, documents: TextStore) -> None:
        """Each query's scores, by document number."""
        frame = read_run(self.run)
        ids = frame["doc_id"].unique()
        numbered = pl.DataFrame({"doc_id": ids, "number": documents.numbers(ids)})
        rows = frame.join(numbered, on="doc_id", maintain_order="left")
        strange = rows.filter(pl.col("number") < 0)
        if strange.height:
            raise InputError(f"{self.run}: document '{strange['doc_id'][0]}' is not in the collection")
        rows = rows.sort("query_id", "number")
        twice = rows.filter(pl.struct("query_id", "number").is_duplicated())
        if twice.height:
            raise InputError(f"{self.run}: document '{twice['doc_id'][0]}' is there twice for '{twice['query_id'][0]}'")
        counts = rows.group_by("query_id", maintain_order=True).len()
        ends = np.cumsum(counts["len"].to_numpy())
        self._spans = {
            query: (int(end - length), int(end))
            for query, length, end in zip(counts["query_id"], counts["len"], ends, strict=True)
        }
        self._numbers, self._scores = rows["number"].to_numpy(), rows["score"].to_numpy()

    def of(self, query: str) -> tuple[Int64, Float64]:
        """The documents that the run has for a query, by number, and their scores."""
        start, end = self._spans.get(query, (0, 0))
        return self._numbers[start:end], self._scores[start:end]
