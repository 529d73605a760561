"""Every document's vector on disk: encoded once, block by block, an interrupted encoding goes on where it was."""

import json
from pathlib import Path

import numpy as np

from surecut.arrays import Float32, Int64
from surecut.errors import InputError
from surecut.files import write_atomically
from surecut.system.cache import built, digest, intact
from surecut.system.models.encoder import BiEncoder
from surecut.system.texts import TextStore
from surecut.watching import SILENT, Watch

_FORMAT = 1  # of the file, and of how a text becomes a vector: another one is built anew
_BLOCK = 512
_FILE, _SHAPE = "vectors.f32", "shape.json"


def document_vectors(encoder: BiEncoder, documents: TextStore, watch: Watch = SILENT) -> Float32:
    """One row a document, memory-mapped."""

    def build(folder: Path) -> None:
        _encode(encoder, documents, folder, watch)

    folder = built("vectors", digest(_FORMAT, encoder.document_fingerprint, documents.fingerprint), build)
    with intact(folder):
        vectors = _open(folder, len(documents))
    _refuse_other_width(encoder, vectors.shape[1])
    return vectors


def inner_products(vectors: Float32, numbers: Int64, query: Float32) -> Float32:
    """The query's product with some documents, each summed on its own: the same whatever the others are."""
    products: Float32 = (vectors[numbers].astype(np.float64) * query.astype(np.float64)).sum(axis=1).astype(np.float32)
    return products


def _encode(encoder: BiEncoder, documents: TextStore, folder: Path, watch: Watch) -> None:
    done = _encoded(folder)
    watch.stage("encoding documents", len(documents), done)
    with (folder / _FILE).open("r+b" if done else "wb") as file:
        if done:
            file.seek(done * _width(folder) * 4)
            file.truncate()
        for start in range(done, len(documents), _BLOCK):
            places = range(start, min(start + _BLOCK, len(documents)))
            vectors = np.ascontiguousarray(encoder.documents(documents.texts.take(places)), dtype=np.float32)
            if start == 0:
                _refuse_other_width(encoder, vectors.shape[1])
                write_atomically(folder / _SHAPE, json.dumps({"width": vectors.shape[1]}))
            file.write(vectors.tobytes())
            file.flush()
            watch.advance(len(places))


def _refuse_other_width(encoder: BiEncoder, width: int) -> None:
    """Two models that do not belong together are noticed before the documents are encoded."""
    if encoder.query_model is not None and (asked := encoder.queries(["query"]).shape[1]) != width:
        raise InputError(
            f"{encoder.query_model} gives vectors of {asked} numbers and {encoder.model} of {width}: query_model and "
            "model do not belong together"
        )


def _encoded(folder: Path) -> int:
    """Whole blocks that an earlier run left."""
    if not (folder / _SHAPE).exists() or not (folder / _FILE).exists():
        return 0
    rows = (folder / _FILE).stat().st_size // (4 * _width(folder))
    return int(rows // _BLOCK * _BLOCK)


def _width(folder: Path) -> int:
    return int(json.loads((folder / _SHAPE).read_text())["width"])


def _open(folder: Path, count: int) -> Float32:
    return np.memmap(folder / _FILE, dtype=np.float32, mode="r", shape=(count, _width(folder)))
