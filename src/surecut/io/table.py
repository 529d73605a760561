"""Score tables: a folder of Parquet with both stages' scores, the judgements, and how it was made."""

import io
import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from surecut.alignment import Absent, MissingReranker, check_options
from surecut.candidates import UNJUDGED, Candidates
from surecut.errors import InputError
from surecut.files import write_atomically
from surecut.frames import as_qrels
from surecut.io.limits import LARGEST_DESCRIPTION, read_document
from surecut.io.parquet import naming, read_parquet
from surecut.io.parts import COLUMNS, Part, ReadPart
from surecut.io.plain_json import parse_json
from surecut.io.roster import enrolled
from surecut.io.score_table import ScoreTable
from surecut.io.shipped import find_table
from surecut.judgements import Judgements, refuse_no_judgements
from surecut.measures import NO_CUTOFF
from surecut.runners import LOCAL, Runner
from surecut.watching import SILENT, Watch

_DESCRIBED = {"fingerprints": dict, "parts": int}

UNFINISHED = "unfinished.json"
"""What `surecut score` keeps in the folder until the table is whole."""


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
    return scan_table(folder, depth=depth, missing_reranker=missing_reranker, absent=absent).collect()


def scan_table(
    folder: str | Path,
    *,
    depth: int | None = None,
    missing_reranker: MissingReranker = "error",
    absent: Absent = "skip",
    runner: Runner = LOCAL,
    watch: Watch = SILENT,
) -> ScoreTable:
    """A score table that may be larger than memory: its lists are read piece by piece when they are needed.

    `calibrate`, `check` and `run_trials` take it in place of Candidates, with the same result. Only the column of query
    ids (and judgements) is read at once. The rows of a query belong in one part, together.

    >>> calibrate(scan_table("scores/"))  # doctest: +SKIP

    Args:
        folder: As in `read_table`, and so are `depth`, `missing_reranker` and `absent`.
        runner: Who works on the pieces: threads of this process, or a `Ray` cluster.
        watch: Hears of the progress.
    """
    check_options(depth, missing_reranker, absent)
    if not hasattr(runner, "start"):
        raise InputError(f"a runner is expected, such as sc.Ray(), not {runner!r}")
    runner.start(watch)
    root = find_table(folder)
    if (root / UNFINISHED).exists() and not (root / "meta.json").exists():
        raise InputError(
            f"{folder}: not finished; run surecut score again with the same recipe, it goes on where it was"
        )
    meta = read_meta(root)
    parts, judgements = _looked_through(root, meta, runner, watch)
    if not any(len(part.queries) for part in parts):
        raise InputError(f"{folder}: no candidates in it")
    roster, census = enrolled(parts, judgements, absent)
    return ScoreTable(
        name=str(folder),
        roster=roster,
        pieces=tuple(piece for part in parts for piece in part.pieces()),
        judgements=judgements,
        missing_reranker=missing_reranker,
        runner=runner,
        census=census,
        system=_system(meta),
        depth=_declared_depth(meta) if depth is None else depth,
        limit=depth,
        watch=watch,
    )


def _looked_through(
    root: Path, meta: Mapping[str, Any], runner: Runner, watch: Watch
) -> tuple[list[Part], Judgements | None]:
    """What the parts hold, and meanwhile the judgements."""
    paths, qrels = _parts(root, meta.get("parts")), root / "qrels.parquet"
    with ThreadPoolExecutor(1) as meanwhile:
        judging = meanwhile.submit(_read_judgements, qrels) if qrels.exists() else None
        watch.stage("reading query ids", len(paths))
        parts = []
        for part in runner.map(ReadPart(graded=judging is None), iter(paths)):
            parts.append(part)
            watch.advance(1)
        _refuse_other_columns(parts)
        if judging is not None and "relevance" in parts[0].columns:
            raise InputError(
                f"{root}: judgements are in {qrels.name}, and in the column 'relevance' of {paths[0].name} too: remove "
                "one of them"
            )
        return parts, None if judging is None else judging.result()


def _system(meta: Mapping[str, Any]) -> dict[str, str]:
    """The fingerprints of what made the scores, as far as they are known."""
    known = meta.get("fingerprints", {})
    return {part: str(known[part]) for part in ("retriever", "reranker", "documents") if part in known}


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
    if isinstance(meta, dict) and all(type(meta.get(name, kind())) is kind for name, kind in _DESCRIBED.items()):
        return meta
    raise InputError(f"{path}: not the meta.json of a score table")


def write_table(data: Candidates, folder: str | Path, meta: Mapping[str, Any] | None = None) -> None:
    """Write Candidates as a score table: a folder of Parquet files, which `meta` may describe further."""
    if not isinstance(data, Candidates):
        raise InputError(f"Candidates are written, not {type(data).__name__}: collect() a score table first")
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


def _read_judgements(path: Path) -> Judgements:
    read = read_parquet(path, COLUMNS)
    with naming(path):
        judgements = Judgements(as_qrels(read))
        refuse_no_judgements(judgements)
        return judgements


def _parts(root: Path, count: int | None) -> list[Path]:
    single, parts = root / "candidates.parquet", sorted((root / "candidates").glob("part-*.parquet"))
    others = sorted(set((root / "candidates").glob("[!.]*.parquet*")) - set(parts))
    if single.exists() and (parts or others):
        raise InputError(
            f"{root}: holds candidates.parquet and candidates/{(parts or others)[0].name} too: remove what is not meant"
        )
    if single.exists():
        return [single]
    deeper = sorted((root / "candidates").glob("[!.]*/**/*.parquet"))
    if deeper:
        raise InputError(f"{deeper[0]}: parts of a score table lie side by side in candidates/, not in folders there")
    if others:
        raise InputError(
            f"{others[0]}: parts of a score table are named part-*.parquet: rename it, or take it elsewhere"
        )
    if not parts and any(root.glob("part-*.parquet")):
        raise InputError(f"{root}: holds the parts of a score table: name the folder that this one is in")
    if not parts:
        raise InputError(
            f"{root}: neither candidates.parquet nor candidates/part-*.parquet is there (nor retriever.run, where a "
            "folder of run files will do)"
        )
    if count is not None and len(parts) != count:
        cure = "remove what is not of this table"
        if len(parts) < count:
            cure = "if surecut score made the table, it makes what is missing again with the same recipe"
        raise InputError(f"{root}: {len(parts)} parts in candidates/, and meta.json says {count:,}: {cure}")
    return parts


def _refuse_other_columns(parts: Sequence[Part]) -> None:
    first = parts[0]
    for part in parts:
        if set(part.columns) != set(first.columns):
            raise InputError(
                f"{part.path.parent}: its parts have different columns: {first.path.name} has "
                f"{', '.join(first.columns)}, and {part.path.name} has {', '.join(part.columns)}"
            )
