"""Documents on disk: ids and texts in flat files, memory-mapped, so that a corpus never lives in Python objects."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from surecut.arrays import Array, Int32, Int64
from surecut.errors import InputError
from surecut.files import write_atomically

_BUFFERED = 16_384
_PIECE = 1_000_000


@dataclass(frozen=True)
class Document:
    """One record of a collection; `text` is what models see, title first."""

    id: str
    text: str


class Strings:
    """A list of strings in two files: the bytes one after the other, and where each ends."""

    def __init__(self, stem: Path) -> None:
        self.ends: Int64 = np.load(_ends(stem), mmap_mode="r")
        empty = not self.ends.size or not self.ends[-1]  # an empty file cannot be mapped
        self._bytes: Array = np.empty(0, np.uint8) if empty else np.memmap(_bytes(stem), dtype=np.uint8, mode="r")
        if not empty and self._bytes.size != self.ends[-1]:
            raise ValueError(f"{_bytes(stem).name} has {self._bytes.size:,} bytes where {self.ends[-1]:,} are expected")

    def __len__(self) -> int:
        return int(self.ends.size)

    def __getitem__(self, place: int) -> str:
        start = int(self.ends[place - 1]) if place else 0
        return self._bytes[start : int(self.ends[place])].tobytes().decode()

    def take(self, places: Iterable[int]) -> list[str]:
        return [self[int(place)] for place in places]

    def series(self) -> pl.Series:
        """All of them as one polars column (Arrow memory, no Python strings)."""
        pieces = [range(at, min(at + _PIECE, len(self))) for at in range(0, len(self), _PIECE)]
        parts = [pl.Series(self.take(piece), dtype=pl.String) for piece in pieces]
        return pl.concat(parts) if parts else pl.Series([], dtype=pl.String)


class TextStore:
    """The documents of a collection, found by number."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        facts = json.loads((folder / "store.json").read_text())
        self.fingerprint = str(facts["fingerprint"])
        self.ids = Strings(folder / "ids")
        self.texts = Strings(folder / "texts")
        self.tie_order: Int32 = np.load(folder / "order.npy", mmap_mode="r")
        """Place of each document's id in the byte order of all ids: equal scores go by it, descending."""

    def __len__(self) -> int:
        return len(self.ids)

    def numbers(self, ids: pl.Series) -> Int64:
        """The number of each id; -1 for one that is not in the collection."""
        known = pl.DataFrame({"id": self.ids.series(), "number": np.arange(len(self), dtype=np.int64)})
        found = pl.DataFrame({"id": ids.cast(pl.String)}).join(known, on="id", how="left", maintain_order="left")
        return found["number"].fill_null(-1).to_numpy()


def write_store(documents: Iterable[Document], folder: Path, source: str) -> None:
    """Stream documents into a store; a repeated id is refused."""
    folder.mkdir(parents=True, exist_ok=True)
    digest = hashlib.blake2b(digest_size=16)
    try:
        count = _stream(documents, folder, digest)
        if not count:
            raise InputError(f"{source}: no documents")
        np.save(folder / "order.npy", _byte_order(Strings(folder / "ids"), source))
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror or error})") from None
    facts = {"documents": count, "fingerprint": digest.hexdigest()}
    write_atomically(folder / "store.json", json.dumps(facts, indent=2) + "\n")


def _stream(documents: Iterable[Document], folder: Path, digest: Any) -> int:
    with _Writer(folder / "ids") as ids, _Writer(folder / "texts") as texts:
        for document in documents:
            for writer, string in ((ids, document.id), (texts, document.text)):
                content = string.encode()
                digest.update(len(content).to_bytes(8, "little") + content)
                writer.append(content)
    return len(ids)


class _Writer:
    def __init__(self, stem: Path) -> None:
        self._stem = stem
        self._file = _bytes(stem).open("wb")
        self._lengths: list[Int64] = []
        self._recent: list[int] = []

    def __enter__(self) -> "_Writer":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._flush()
        np.save(_ends(self._stem), np.cumsum(np.concatenate(self._lengths), dtype=np.int64))

    def __len__(self) -> int:
        return sum(part.size for part in self._lengths)

    def append(self, content: bytes) -> None:
        self._file.write(content)
        self._recent.append(len(content))
        if len(self._recent) == _BUFFERED:
            self._flush()

    def _flush(self) -> None:
        self._lengths.append(np.array(self._recent, dtype=np.int64))
        self._recent = []


def _byte_order(ids: Strings, source: str) -> Int32:
    column = ids.series()
    order = column.arg_sort()
    ranked = column.gather(order)
    repeats = np.flatnonzero((ranked == ranked.shift(1)).fill_null(False).to_numpy())
    if repeats.size:
        first, again = sorted((int(order[int(repeats[0]) - 1]), int(order[int(repeats[0])])))
        raise InputError(
            f"{source}: documents {first + 1:,} and {again + 1:,} have the same id '{ids[first]}'; ids must be unique"
        )
    places = np.empty(len(ids), dtype=np.int32)
    places[order.to_numpy()] = np.arange(len(ids), dtype=np.int32)
    return places


def _bytes(stem: Path) -> Path:
    return stem.with_suffix(".bin")


def _ends(stem: Path) -> Path:
    return stem.with_suffix(".npy")


def title_and_text(title: str, text: str) -> str:
    """What models and indexes see of a document."""
    return f"{title} {text}".strip() if title else text.strip()
