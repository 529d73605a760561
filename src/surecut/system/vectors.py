"""Every document's vector on disk: encoded once, block by block, an interrupted encoding goes on where it was.

Blocks are written at their places in the file as they come, and noted in a list of those that are there.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from surecut.arrays import Array, Float32, Int64
from surecut.errors import InputError, Unscorable
from surecut.files import write_atomically
from surecut.runners import LOCAL, Runner
from surecut.system.blocks import Encoding, blocks_of
from surecut.system.cache import built, digest, intact, kept
from surecut.system.isolating import Isolated, halves, keep_reasons, read_reasons
from surecut.system.models.encoder import BiEncoder
from surecut.system.texts import TextStore
from surecut.watching import SILENT, Watch

_FORMAT = 2  # of the file, and of how a text becomes a vector: another one is built anew
_FILE, _SHAPE, _THERE = "vectors.f32", "shape.json", "encoded.txt"


@dataclass(frozen=True, eq=False)
class Vectors:
    """One row a document, memory-mapped; those of documents that the encoder failed on are zeros."""

    rows: Float32
    reasons: dict[int, str]  # by document, of those that failed

    @property
    def failed(self) -> Int64:
        return np.array(sorted(self.reasons), dtype=np.int64)


def encode_documents(encoder: BiEncoder, documents: TextStore, watch: Watch = SILENT, runner: Runner = LOCAL) -> None:
    """Have the vectors of all documents, encoded now if they are not there."""

    def build(folder: Path) -> None:
        _encode(encoder, documents, folder, watch, runner)

    folder = built("vectors", _key(encoder, documents), build)
    with intact(folder):
        width = _width(folder)
    _refuse_other_width(encoder, width)


def document_vectors(encoder: BiEncoder, documents: TextStore) -> Vectors:
    """The vectors of all documents, which were encoded before."""
    folder = kept("vectors", _key(encoder, documents))
    with intact(folder):
        return Vectors(_open(folder, len(documents)), read_reasons(folder))


def _key(encoder: BiEncoder, documents: TextStore) -> str:
    return digest(_FORMAT, encoder.document_fingerprint, documents.fingerprint)


def inner_products(vectors: Float32, numbers: Int64, query: Float32) -> Float32:
    """The query's product with some documents, each summed on its own: the same whatever the others are."""
    products: Float32 = (vectors[numbers].astype(np.float64) * query.astype(np.float64)).sum(axis=1).astype(np.float32)
    return products


@dataclass(frozen=True)
class _Encoder:
    """Encodes blocks of documents, wherever it is; what it makes goes by the documents' numbers."""

    encoder: BiEncoder
    documents: Path

    def __call__(self) -> Encoding[Array]:
        return Encoding(self._vectors, TextStore(self.documents))

    def divided(self, block: range) -> list[range]:
        return halves(block)

    def joined(self, made: Sequence[Isolated[Array]]) -> Isolated[Array]:
        found: Isolated[Array] = Isolated({}, {})
        for each in made:
            found.made.update(each.made)
            found.reasons.update(each.reasons)
        return found

    def given_up(self, block: range, reason: str) -> Isolated[Array]:
        return Isolated({}, dict.fromkeys(block, reason))

    def _vectors(self, texts: list[str]) -> list[Array]:
        return list(np.ascontiguousarray(self.encoder.documents(texts), dtype=np.float32))


def _encode(encoder: BiEncoder, documents: TextStore, folder: Path, watch: Watch, runner: Runner) -> None:
    missing = _missing(folder, len(documents))
    watch.stage("encoding documents", len(documents), len(documents) - sum(map(len, missing)))
    for place, found in runner.infer(_Encoder(encoder, documents.folder), missing):
        block = missing[place]
        keep_reasons(folder, block, found.reasons)
        if found.made:
            if not (folder / _SHAPE).exists():
                width = next(iter(found.made.values())).size
                _refuse_other_width(encoder, width)
                write_atomically(folder / _SHAPE, json.dumps({"width": width}))
            _write(folder, block, _rows(found, block, _width(folder)))
        watch.advance(len(block))
    if not (folder / _SHAPE).exists():
        raise Unscorable(f"no document can be encoded: {next(iter(read_reasons(folder).values()), 'there is none')}")
    os.truncate(folder / _FILE, len(documents) * _row_bytes(folder))  # the last block may be of failures alone


def _write(folder: Path, block: range, rows: Float32) -> None:
    """Vectors first, and on the disk before they are said to be there."""
    (folder / _FILE).touch()
    with (folder / _FILE).open("r+b") as file:
        file.seek(block.start * rows[0].nbytes)
        file.write(rows.tobytes())
        file.flush()
        os.fsync(file.fileno())
    with (folder / _THERE).open("a") as there:
        there.write(f"\n{_name(block)}")


def _missing(folder: Path, count: int) -> list[range]:
    """Blocks that no earlier run has left; what is noted counts as far as the vectors reach."""
    there: set[str] = set()
    if all((folder / name).exists() for name in (_FILE, _SHAPE, _THERE)):
        there = set((folder / _THERE).read_text().splitlines())
        reach = (folder / _FILE).stat().st_size // _row_bytes(folder)
    return [block for block in blocks_of(count) if _name(block) not in there or block.stop > reach]


def _name(block: range) -> str:
    """In the list; the point shows that it was written to its end."""
    return f"{block.start} {block.stop}."


def _rows(found: Isolated[Array], block: range, width: int) -> Float32:
    rows = np.zeros((len(block), width), dtype=np.float32)
    for number, vector in found.made.items():
        rows[number - block.start] = vector
    return rows


def _refuse_other_width(encoder: BiEncoder, width: int) -> None:
    """Two models that do not belong together are noticed before the documents are encoded."""
    if encoder.query_model is not None and (asked := encoder.queries(["query"]).shape[1]) != width:
        raise InputError(
            f"{encoder.query_model} gives vectors of {asked} numbers and {encoder.model} of {width}: query_model and "
            "model do not belong together"
        )


def _width(folder: Path) -> int:
    return int(json.loads((folder / _SHAPE).read_text())["width"])


def _row_bytes(folder: Path) -> int:
    return _width(folder) * np.dtype(np.float32).itemsize


def _open(folder: Path, count: int) -> Float32:
    return np.memmap(folder / _FILE, dtype=np.float32, mode="r", shape=(count, _width(folder)))
