"""TREC runs and qrels, read as they come: any white space, any compression, any order of lines.

A clean file (one kind of separator, once between two fields) goes straight through polars' parallel reader.
Anything else is read line by line, slower, and the first line that is wrong is named.
"""

import mmap
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from surecut.alignment import (
    RUN_COLUMNS,
    Absent,
    MissingReranker,
    check_options,
    from_listed,
)
from surecut.candidates import Candidates
from surecut.errors import InputError
from surecut.io.limits import refuse_long_lines
from surecut.io.piped import standard_input
from surecut.io.unpacking import DAMAGED, is_packed, not_text, text_lines
from surecut.judgements import LARGEST_GRADE, QREL_COLUMNS
from surecut.listing import Listed, grouped, in_retriever_order
from surecut.memory import refuse_beyond_memory

RUN_FIELDS = {
    "query_id": pl.String,
    "Q0": pl.String,
    "doc_id": pl.String,
    "rank": pl.String,
    "score": pl.Float64,
    "tag": pl.String,
}
QREL_FIELDS = {"query_id": pl.String, "iteration": pl.String, "doc_id": pl.String, "relevance": pl.Int64}
BEIR_FIELDS = {"query_id": pl.String, "doc_id": pl.String, "relevance": pl.Int64}

_LOOKED_AT, _NO_CHANCE = 10_000, 20  # lines, and steps among them, to see which way scores run
_NEWLINE_ONLY = "\x1f"  # a separator that text files do not hold: one column, the line

Path_ = str | Path


def read_trec(
    retriever: Path_,
    reranker: Path_ | None = None,
    qrels: Path_ | None = None,
    *,
    depth: int | None = None,
    missing_reranker: MissingReranker = "error",
    absent: Absent = "skip",
) -> Candidates:
    """Candidates from two TREC runs and a qrels file.

    >>> read_trec("bm25.run", "mono.run", "qrels.txt", depth=1000)  # doctest: +SKIP

    Args:
        retriever: A run, as it is or compressed by gzip, bz2 or zstd; "-" is standard input.
        reranker: A run with a score for every candidate; others in it are ignored and counted.
        qrels: Judgements, in TREC's four columns or BEIR's three with their header.
        depth: Cut every retriever list here.
        missing_reranker: A candidate without a reranker score is an error, or placed below those that have one.
        absent: A judged query that is not in the run is left out and counted, or counts as 0.
    """
    check_options(depth, missing_reranker, absent)
    with ThreadPoolExecutor(max_workers=2) as pool:  # what polars does not do in parallel overlaps here
        reranked: Callable[[], Listed] | None = None if reranker is None else partial(_hashed, reranker)
        if reranked is not None and str(reranker) != "-":  # Ctrl-C reaches the main thread only
            reranked = pool.submit(reranked).result
        listed, scores = in_retriever_order(grouped(read_run(retriever)), depth)
        judged = None if qrels is None else read_qrels(qrels)
        second = None if reranked is None else reranked()
    return from_listed(listed, scores, second, judged, missing_reranker=missing_reranker, absent=absent)


def _hashed(path: Path_) -> Listed:
    listed = grouped(read_run(path))
    _ = listed.hashes, listed.more_hashes
    return listed


def read_run(path: Path_) -> pl.DataFrame:
    """query_id doc_id score; the tag is not looked at, and the rank only where scores seem to be distances."""
    source = _open(path)
    frame = _read(path, RUN_FIELDS, RUN_COLUMNS, source)
    if frame.height == 0:
        raise InputError(f"{path}: no lines; a run has lines like 'q1 Q0 doc7 1 13.2 bm25'")
    if _rises(frame.head(_LOOKED_AT), "score"):
        ranked = _read(path, RUN_FIELDS, ("query_id", "rank", "score"), source).head(_LOOKED_AT)
        if _rises(ranked.with_columns(pl.col("rank").cast(pl.Float64, strict=False)), "rank"):
            raise InputError(
                f"{path}: scores rise with the rank, as distances do: higher scores must mean better documents, so "
                "write the distances with a minus sign"
            )
    return frame


def _rises(frame: pl.DataFrame, column: str) -> bool:
    """Down every list, does this never fall, and rise often enough to be no chance?"""
    steps = frame.select(
        step=pl.col(column).diff(), within=(pl.col("query_id") == pl.col("query_id").shift()).fill_null(False)
    ).filter("within")["step"]
    return steps.null_count() == 0 and bool((steps >= 0).all()) and int((steps > 0).sum()) >= _NO_CHANCE


def read_qrels(path: Path_, content: bytes | None = None) -> pl.DataFrame:
    """query_id doc_id relevance, from four TREC columns or BEIR's three with their header.

    Where `content` is given it is read, and `path` only names it.
    """
    source = _open(path) if content is None else content
    fields = BEIR_FIELDS if _is_beir(source, path) else QREL_FIELDS
    frame = _read(path, fields, QREL_COLUMNS, source)
    if frame.height == 0:
        raise InputError(f"{path}: no lines; judgements are lines like 'q1 0 doc7 1'")
    return frame


def _open(path: Path_) -> Any:
    """What polars can read from: the path of a plain file, or the lines of anything else."""
    try:
        if str(path) == "-":
            with standard_input() as stream:
                return text_lines(stream, path)
        with open(path, "rb") as file:
            if not Path(path).is_file() or is_packed(file.peek()):  # a pipe can be read once only
                return text_lines(file, path)
            refuse_long_lines(file, path)
            refuse_beyond_memory(Path(path).stat().st_size, path)
    except InputError:
        raise
    except (*DAMAGED, ValueError) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    return Path(path)


def _first_line(source: Any, path: Path_) -> str:
    try:
        frame = _csv(source, path, _NEWLINE_ONLY, {"line": pl.String}, ["line"], n_rows=1)
    except pl.exceptions.PolarsError:
        raise not_text(path) from None
    return str(frame["line"][0] or "") if frame.height else ""


def _holds(source: Any, character: str) -> bool:
    """Does the file hold this byte anywhere?"""
    if isinstance(source, bytes):
        return character.encode() in source
    with open(source, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        return mapped.find(character.encode()) >= 0


def _is_beir(source: Any, path: Path_) -> bool:
    """BEIR's header is 'query-id corpus-id score' (tabs)."""
    first = _first_line(source, path).lower().split()
    return len(first) == 3 and first[0].strip("\ufeff").replace("_", "-") in ("query-id", "qid", "query")


def _csv(
    source: Any, path: Path_, separator: str, schema: dict[str, Any], wanted: Sequence[str], **options: Any
) -> pl.DataFrame:
    try:
        scan = pl.scan_csv(
            source,
            separator=separator,
            has_header=False,
            schema=schema,
            quote_char=None,
            raise_if_empty=False,
            glob=False,
            **options,
        )
        return scan.select(wanted).collect()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None


def _read(path: Path_, fields: dict[str, Any], wanted: tuple[str, ...], source: Any = None) -> pl.DataFrame:
    source = _open(path) if source is None else source
    header = 1 if fields is BEIR_FIELDS else 0
    separator, other = ("\t", " ") if "\t" in _first_line(source, path) else (" ", "\t")
    last, beyond = list(fields)[-1], "beyond"  # null in a line that is too short, filled in one too long
    columns = list(dict.fromkeys((*wanted, last, beyond)))
    try:
        frame = _csv(
            source, path, separator, {**fields, beyond: pl.String}, columns, skip_lines=header, missing_columns="insert"
        )
    except pl.exceptions.PolarsError:
        return _read_lines(source, path, fields, wanted, header)
    clean = sum(frame.null_count().row(0)) == frame.height == frame[beyond].null_count() and (
        wanted[-1] != "score" or frame["score"].is_finite().all()
    )
    if clean and frame.height and _holds(source, other):
        clean = not any(frame[name].str.contains(other, literal=True).any() for name in ("query_id", "doc_id"))
    return frame.select(wanted) if clean else _read_lines(source, path, fields, wanted, header)


def _read_lines(source: Any, path: Path_, fields: dict[str, Any], wanted: tuple[str, ...], header: int) -> pl.DataFrame:
    """The patient way: split every line at white space, and name the first one that is wrong."""
    try:
        lines = _csv(
            source,
            path,
            _NEWLINE_ONLY,
            {"line": pl.String},
            ["number", "line"],
            row_index_name="number",
            row_index_offset=1,
        )
    except pl.exceptions.PolarsError:
        raise not_text(path) from None
    split = (
        lines.slice(header)
        .with_columns(pl.col("line").str.strip_chars())
        .filter(pl.col("line").is_not_null() & (pl.col("line") != ""))
        .with_columns(pl.col("line").str.extract_all(r"[^ \t\r\x0b\x0c]+").alias("fields"))
    )
    wrong = split.filter(pl.col("fields").list.len() != len(fields))
    if wrong.height:
        raise InputError(_column_complaint(path, wrong.row(0, named=True), fields))
    columns = {name: pl.col("fields").list.get(i) for i, name in enumerate(fields)}
    frame = split.select("number", **columns)
    value = wanted[-1]
    numbers = frame[value].cast(pl.Float64, strict=False)
    bad = numbers.is_null() | (numbers.is_not_null() & ~numbers.is_finite())
    if value == "relevance":
        bad = bad | (numbers != numbers.floor()) | (numbers.abs() > LARGEST_GRADE)
    if bad.any():
        row = int(bad.arg_max() or 0)
        what = "score is not a finite number" if value == "score" else "grade is not a whole number"
        raise InputError(f"{path}, line {frame['number'][row]}: the {what}: '{frame[value][row]}'")
    return frame.with_columns(numbers.cast(fields[value]).alias(value)).select(wanted)


def _column_complaint(path: Path_, line: dict[str, Any], fields: dict[str, Any]) -> str:
    found = line["fields"]
    where = f"{path}, line {line['number']}"
    if len(found) == 3 and fields is RUN_FIELDS:
        return (
            f"{where}: three columns, so this run has no scores (MS MARCO's 'query document rank'); surecut "
            "needs the scores: write the run in TREC format, 'query Q0 document rank score tag'"
        )
    return f"{where}: {len(found)} columns where {len(fields)} are expected ({' '.join(fields)})"
