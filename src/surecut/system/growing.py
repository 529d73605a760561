"""A score table that grows: finished blocks survive anything, a stopped run goes on where it was."""

import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

import polars as pl

from surecut.errors import InputError
from surecut.files import remove_leftovers, write_atomically
from surecut.io.limits import LARGEST_DESCRIPTION, read_document
from surecut.io.parquet import read_parquet
from surecut.io.parquet_claims import NotParquet
from surecut.io.plain_json import parse_json
from surecut.io.table import UNFINISHED, as_parquet
from surecut.system.isolating import Failure

_DOCUMENTS = "documents.failed.json"
_ROWS_PER_PART = 1_000_000
_QUERIES_PER_SEARCH = 128


@dataclass(frozen=True)
class Block:
    """Queries that are scored together."""

    number: int
    part: int
    start: int
    end: int


class GrowingTable:
    """Blocks of queries, gathered into parts of about a million rows.

    While it grows, the folder holds unfinished.json (what is being made) and blocks/; a part that is whole replaces its
    blocks, and when every part is there meta.json replaces unfinished.json.
    """

    def __init__(
        self,
        folder: Path,
        plan: Mapping[str, Any],
        queries: int,
        depth: int,
        block_pairs: int,
        libraries: Mapping[str, str],
    ) -> None:
        self.folder = folder
        self.plan = dict(plan)
        self.libraries = dict(libraries)  # and their versions, which make the scores
        self._queries = queries
        per_block = max(1, block_pairs // depth)
        self._lay_out(per_block, max(1, _ROWS_PER_PART // (per_block * depth)))

    def _lay_out(self, queries_per_block: int, blocks_per_part: int) -> None:
        self._layout = {"queries_per_block": queries_per_block, "blocks_per_part": blocks_per_part}
        self.blocks = [
            Block(number, number // blocks_per_part, start, min(start + queries_per_block, self._queries))
            for number, start in enumerate(range(0, self._queries, queries_per_block))
        ]
        self._parts = {part: list(blocks) for part, blocks in groupby(self.blocks, key=lambda block: block.part)}

    @property
    def begun(self) -> bool:
        """Is there a table in the folder, or what was made of one?"""
        return self.finished or (self.folder / UNFINISHED).exists()

    @property
    def finished(self) -> bool:
        return (self.folder / "meta.json").exists()

    def meta(self) -> dict[str, Any]:
        """What a finished table says of itself."""
        return _read(self.folder / "meta.json")

    def open(self) -> None:
        """Begin, or take up what was begun with the same plan, in the blocks it was begun with."""
        for name in ("meta.json", UNFINISHED, "qrels.parquet", _DOCUMENTS):
            remove_leftovers(self.folder, name)
        remove_leftovers(self.folder / "blocks", "block-*.*")
        remove_leftovers(self.folder / "candidates", "part-*.*")
        described = self._described()
        if described is not None:
            begun = _read(described)
            if "plan" not in begun:
                raise self._made_otherwise()
            self._refuse_other_plan(begun["plan"])
            self._take_up(begun.get("layout"), described)
            self._keep_libraries(begun.get("libraries"))
        elif self._holds_anything() or (self.folder / "candidates.parquet").exists():
            raise self._made_otherwise()
        if not self.finished or self.missing():  # a table of which a part is gone is an unfinished one
            self._begin()

    def _made_otherwise(self) -> InputError:
        return InputError(
            f"{self.folder}: holds a score table that surecut score did not make; name another folder with -o"
        )

    def _described(self) -> Path | None:
        """The file that says what is in the folder; one that was begun and holds nothing may be had by another."""
        if self.finished:
            return self.folder / "meta.json"
        return self.folder / UNFINISHED if (self.folder / UNFINISHED).exists() and self._holds_anything() else None

    def _begin(self) -> None:
        (self.folder / "blocks").mkdir(parents=True, exist_ok=True)
        begun = {"plan": self.plan, "layout": self._layout, "libraries": self.libraries}
        write_atomically(self.folder / UNFINISHED, json.dumps(begun, indent=2, sort_keys=True) + "\n")
        (self.folder / "meta.json").unlink(missing_ok=True)

    def _holds_anything(self) -> bool:
        return any(True for name in ("blocks", "candidates") for _ in (self.folder / name).glob("*.parquet"))

    def _take_up(self, layout: Any, path: Path) -> None:
        sizes: list[Any] = [layout.get(name) for name in self._layout] if isinstance(layout, dict) else []
        if not sizes or not all(isinstance(size, int) and size >= 1 for size in sizes):
            raise _damaged(path)
        self._lay_out(*sizes)

    def missing(self) -> list[Block]:
        """Blocks that are still to be scored."""
        return [
            block for block in self.blocks if not self._part(block.part).exists() and not self._block(block).exists()
        ]

    def groups(self) -> list[range]:
        """For each block the queries that are retrieved in one go with its own, a hundred or so: the same ones whenever
        a run is resumed, because the last bits of a matrix product may depend on its size."""
        together = groupby(self.blocks, key=lambda block: block.start // _QUERIES_PER_SEARCH)
        several = [list(blocks) for _, blocks in together]
        return [range(blocks[0].start, blocks[-1].end) for blocks in several for _ in blocks]

    def write(self, block: Block, rows: pl.DataFrame, failures: Sequence[Failure] = ()) -> None:
        """Keep a block, in whatever order they come; with the last one of a part, the part is made."""
        unwritten = self._unwritten
        _keep_failures(_failed(self._block(block)), [each.to_json() for each in failures])
        write_atomically(self._block(block), as_parquet(rows))
        unwritten[block.part] -= 1
        if not unwritten[block.part]:
            self._gather(block.part)

    @cached_property
    def _unwritten(self) -> Counter[int]:
        """How many blocks each part still waits for, counted when the first one is about to be written."""
        return Counter(block.part for block in self.missing())

    def keep_documents(self, failures: Sequence[Failure]) -> None:
        """Note which documents no query can find."""
        _keep_failures(self.folder / _DOCUMENTS, [each.to_json() for each in failures])

    def failures(self) -> list[Failure]:
        """What could not be indexed or scored, in the order of the table."""
        paths = [self.folder / _DOCUMENTS, *(_failed(self._part(part)) for part in self._parts)]
        return [Failure(**each) for path in paths for each in _read_failures(path)]

    def gather(self) -> None:
        """Turn every whole set of blocks into a part."""
        for part in self._parts:
            self._gather(part)

    def _gather(self, part: int) -> None:
        blocks = self._parts[part]
        if not self._part(part).exists() and all(self._block(block).exists() for block in blocks):
            (self.folder / "candidates").mkdir(exist_ok=True)
            rows = pl.concat([self._read_block(block) for block in blocks])
            failed = [each for block in blocks for each in _read_failures(_failed(self._block(block)))]
            _keep_failures(_failed(self._part(part)), failed)
            write_atomically(self._part(part), as_parquet(rows))
        if self._part(part).exists():
            for block in blocks:
                self._block(block).unlink(missing_ok=True)
                _failed(self._block(block)).unlink(missing_ok=True)

    def _read_block(self, block: Block) -> pl.DataFrame:
        path = self._block(block)
        try:
            return read_parquet(path)
        except NotParquet:
            path.unlink(missing_ok=True)
            raise InputError(f"{path}: was damaged and is removed; the same command scores it again") from None

    def rows(self) -> Iterator[pl.DataFrame]:
        """Each part, once they are there: they may not fit in memory together."""
        for part in self._parts:
            path = self._part(part)
            try:
                yield read_parquet(path)
            except NotParquet:
                raise InputError(f"{path}: damaged; remove it, and the same command scores its queries again") from None

    def finish(self, qrels: pl.DataFrame | None, meta: Mapping[str, Any]) -> None:
        """Everything is scored: judgements, then meta.json, which makes it a table."""
        if qrels is not None:
            write_atomically(self.folder / "qrels.parquet", as_parquet(qrels))
        made = {"plan": self.plan, "layout": self._layout, "libraries": self.libraries}
        described = {**meta, "parts": len(self._parts), **made}
        write_atomically(self.folder / "meta.json", json.dumps(described, indent=2, sort_keys=True) + "\n")
        self.tidy()

    def tidy(self) -> None:
        """Remove what only a growing table needs."""
        (self.folder / UNFINISHED).unlink(missing_ok=True)
        shutil.rmtree(self.folder / "blocks", ignore_errors=True)

    def _part(self, number: int) -> Path:
        return self.folder / "candidates" / f"part-{number:05d}.parquet"

    def _block(self, block: Block) -> Path:
        return self.folder / "blocks" / f"block-{block.number:07d}.parquet"

    def _refuse_other_plan(self, other: Any) -> None:
        if other == self.plan:
            return
        differs = [key for key in self.plan if not isinstance(other, dict) or other.get(key) != self.plan[key]]
        raise InputError(
            f"{self.folder}: was begun with another {' and '.join(differs) or 'recipe'}; name another folder with -o, "
            "or remove this one"
        )

    def _keep_libraries(self, before: Any) -> None:
        """What is there was made by those that it was begun with; tables of before these were noted name none."""
        known = before if isinstance(before, dict) else {}
        others = {name: said for name, said in known.items() if said != self.libraries.get(name)}
        if others and self.missing():
            then = ", ".join(f"{name} {said}" for name, said in others.items())
            now = ", ".join(f"{name} {self.libraries.get(name, '(none)')}" for name in others)
            raise InputError(
                f"{self.folder}: was begun with {then}, and here is {now}, which may give other scores: install what "
                "it was begun with, name another folder with -o, or remove this one"
            )
        self.libraries = known


def _failed(path: Path) -> Path:
    """Where it is kept what could not be scored of a block or part."""
    return path.with_suffix(".failed.json")


def _keep_failures(path: Path, failures: Sequence[Mapping[str, Any]]) -> None:
    if failures:
        write_atomically(path, json.dumps(list(failures), indent=1, ensure_ascii=False) + "\n")
    else:
        path.unlink(missing_ok=True)


def _read_failures(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _read(path: Path) -> dict[str, Any]:
    try:
        found = parse_json(read_document(path, LARGEST_DESCRIPTION), path)
    except InputError:
        found = None
    if not isinstance(found, dict):
        raise _damaged(path)
    return found


def _damaged(path: Path) -> InputError:
    return InputError(f"{path}: damaged; name another folder with -o, or remove this one")
