"""Score tables: a folder of Parquet with both stages' scores, the judgements, and how it was made."""

import io
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from surecut.alignment import Absent, MissingReranker
from surecut.candidates import UNJUDGED, Candidates
from surecut.errors import InputError
from surecut.files import write_atomically
from surecut.frames import from_frame
from surecut.io.limits import LARGEST_DESCRIPTION, read_document
from surecut.io.parquet import read_parquet
from surecut.io.plain_json import parse_json
from surecut.io.shipped import find_table
from surecut.measures import NO_CUTOFF

UNFINISHED = "unfinished.json"
"""What `surecut score` keeps in the folder until the table is whole."""

_COLUMNS = ("query_id", "doc_id", "retriever", "reranker", "relevance", "group")


def read_table(
    folder: str | Path,
    *,
    depth: int | None = None,
    missing_reranker: MissingReranker = "error",
    absent: Absent = "skip",
) -> Candidates:
    """Candidates from a score table, a folder that `write_table` or `score` made.

    `depth`, `missing_reranker` and `absent` are as in `read_trec`.

    >>> read_table("scores/")  # doctest: +SKIP
    >>> read_table("example:scifact-bm25-bge")  # one that ships with surecut
    Candidates(1,109 queries, 110,793 candidates, 1,109 judged)
    """
    root = find_table(folder)
    if (root / UNFINISHED).exists() and not (root / "meta.json").exists():
        raise InputError(
            f"{folder}: not finished; run surecut score again with the same recipe, it goes on where it was"
        )
    meta = read_meta(root)
    candidates = _candidates(root, meta.get("parts"))
    qrels = None
    if (root / "qrels.parquet").exists():
        qrels = read_parquet(root / "qrels.parquet", _COLUMNS)
    system = {
        part: str(meta["fingerprints"][part])
        for part in ("retriever", "reranker", "documents")
        if part in meta.get("fingerprints", {})
    }
    data = from_frame(candidates, qrels, depth=depth, missing_reranker=missing_reranker, absent=absent, system=system)
    return replace(data, depth=_declared_depth(meta) if depth is None else depth)


def _declared_depth(meta: Mapping[str, Any]) -> int | None:
    declared = meta.get("depth")
    if not isinstance(declared, int) or isinstance(declared, bool) or not 0 < declared < NO_CUTOFF:
        return None
    return declared


def read_meta(folder: str | Path) -> dict[str, Any]:
    """meta.json of a score table; empty when there is none."""
    path = find_table(folder) / "meta.json"
    if not path.exists():
        return {}
    meta = parse_json(read_document(path, LARGEST_DESCRIPTION), path)
    if not isinstance(meta, dict) or not isinstance(meta.get("fingerprints", {}), dict):
        raise InputError(f"{path}: not the meta.json of a score table")
    return meta


def write_table(data: Candidates, folder: str | Path, meta: Mapping[str, Any] | None = None) -> None:
    """Write Candidates as a score table: a folder of Parquet files, which `meta` may describe further."""
    root = Path(folder)
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror or error})") from None
    write_atomically(root / "candidates.parquet", as_parquet(to_frame(data)))
    if data.judged.any():
        write_atomically(root / "qrels.parquet", as_parquet(judgements(data)))
    described = {
        "depth": max(data.depth or 0, int(data.lengths.max(initial=0))),
        "fingerprints": dict(data.system),
        **(meta or {}),
    }
    write_atomically(root / "meta.json", json.dumps(described, indent=2, sort_keys=True) + "\n")


def to_frame(data: Candidates) -> pl.DataFrame:
    """Candidates as one long frame, in retriever order."""
    columns: dict[str, Any] = {
        "query_id": pl.Series(data.query_ids.tolist(), dtype=pl.String).gather(_owners(data)),
        "doc_id": _documents(data),
        "retriever": data.retriever,
    }
    if data.reranker is not None:
        columns["reranker"] = data.reranker
    if data.groups is not None:
        columns["group"] = pl.Series(data.groups.tolist(), dtype=pl.String).gather(_owners(data))
    return pl.DataFrame(columns)


def judgements(data: Candidates) -> pl.DataFrame:
    """query_id doc_id relevance; judged documents that are no candidates get names of their own."""
    rows = np.flatnonzero(data.grades != UNJUDGED)
    queries = pl.Series(data.query_ids.tolist(), dtype=pl.String)
    found = pl.DataFrame(
        {
            "query_id": queries.gather(_owners(data)[rows]),
            "doc_id": _documents(data).gather(rows),
            "relevance": data.grades[rows],
        }
    )
    counts = np.diff(data.missed_offsets)
    place = np.arange(data.missed.size) - np.repeat(data.missed_offsets[:-1], counts)
    lost = pl.DataFrame(
        {
            "query_id": queries.gather(np.repeat(np.arange(len(data)), counts)),
            "doc_id": pl.Series([f"not-retrieved-{i}" for i in place], dtype=pl.String),
            "relevance": data.missed,
        }
    )
    return pl.concat((found, lost))


def as_parquet(frame: pl.DataFrame, level: int | None = None) -> bytes:
    """A frame as the bytes of a Parquet file, the same ones every time; a higher level takes longer and less room."""
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd", compression_level=level)
    return buffer.getvalue()


def _owners(data: Candidates) -> Any:
    return np.repeat(np.arange(len(data)), data.lengths)


def _documents(data: Candidates) -> pl.Series:
    if data.doc_ids is not None:
        return data.doc_ids.rename("doc_id")
    place = np.arange(data.retriever.size) - np.repeat(data.offsets[:-1], data.lengths)
    width = len(str(int(data.lengths.max(initial=1))))  # ids that fall, so that ties keep their order
    return pl.Series("doc_id", (10**width - 1 - place).astype(str)).str.zfill(width)


def _candidates(root: Path, count: int | None) -> pl.DataFrame:
    single, parts = root / "candidates.parquet", sorted((root / "candidates").glob("part-*.parquet"))
    if single.exists():
        return read_parquet(single, _COLUMNS)
    if not parts:
        raise InputError(
            f"{root}: neither candidates.parquet nor candidates/part-*.parquet is there (nor retriever.run, where a "
            "folder of run files will do)"
        )
    if count is not None and len(parts) != count:
        raise InputError(
            f"{root}: {len(parts)} of the {count} parts in candidates/ are there; surecut score with the same recipe "
            "makes the others again"
        )
    return _read(parts)


def _read(paths: list[Path]) -> pl.DataFrame:
    parts = [read_parquet(path, _COLUMNS) for path in paths]
    try:
        return pl.concat(parts, how="vertical_relaxed")
    except pl.exceptions.PolarsError:
        raise InputError(f"{paths[0].parent}: its parts have different columns, or other types in them") from None
