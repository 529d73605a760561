"""Records of documents and queries: JSON lines and Parquet, streamed, the first wrong line named."""

import io
import json
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from surecut.errors import InputError
from surecut.io.limits import LONGEST_RECORD, numbered_lines
from surecut.io.parquet import collected, refuse_endless_texts, scan_parquet, text_bytes
from surecut.io.unpacking import DAMAGED, unpacked
from surecut.system.texts import Document, title_and_text

_IDS = ("_id", "id", "doc_id", "query_id", "docid", "qid", "pid")
_TEXTS = ("text", "contents", "body", "query", "passage")
_ROWS = 65_536
_BOM = b"\xef\xbb\xbf"

Opener = Callable[[], io.BufferedReader]


def read_records(path: Path) -> Iterator[Document]:
    """The records of a .jsonl (also compressed) or .parquet file."""
    if not path.is_file():
        raise InputError(f"{path}: {'a folder, not a file' if path.is_dir() else 'no such file'}")
    if path.suffix == ".parquet":
        return _parquet(path)
    return read_lines(lambda: _unpacked(path), str(path))


def read_lines(opener: Opener, name: str) -> Iterator[Document]:
    """One record a line of JSON."""
    with readable(name), opener() as raw:
        for number, line in numbered_lines(raw, name, LONGEST_RECORD):
            if line.strip():
                where = f"{name}, line {number:,}"
                yield _record(_parsed(line.removeprefix(_BOM) if number == 1 else line, where), where)


@contextmanager
def readable(name: str) -> Iterator[None]:
    """A file that turns out to be damaged while it is read is named."""
    try:
        yield
    except (*DAMAGED, zipfile.BadZipFile) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise InputError(f"{name}: damaged, or not what its name says ({reason})") from None


def _unpacked(path: Path) -> io.BufferedReader:
    try:
        file = path.open("rb")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    return unpacked(file, path)


def _parquet(path: Path) -> Iterator[Document]:
    scan = scan_parquet(path, (*_IDS, *_TEXTS, "title"))
    taken = 0
    for start in range(0, int(collected(scan.select(pl.len()), path).item()), _ROWS):
        rows = collected(scan.slice(start, _ROWS), path)
        taken += text_bytes(rows)
        refuse_endless_texts(taken, path)
        for number, row in enumerate(rows.iter_rows(named=True), start=start + 1):
            yield _record(row, f"{path}, row {number:,}")


def _parsed(line: bytes, where: str) -> Any:
    try:
        return json.loads(line.decode())
    except UnicodeDecodeError:
        raise InputError(f"{where}: not UTF-8") from None
    except ValueError as error:
        raise InputError(f"{where}: not JSON ({getattr(error, 'msg', error)})") from None
    except RecursionError:
        raise InputError(f"{where}: not a record; it is nested too deep") from None


def _record(fields: Any, where: str) -> Document:
    if not isinstance(fields, Mapping):
        raise InputError(f'{where}: expected an object like {{"_id": "d1", "text": "..."}}')
    name = next((fields[key] for key in _IDS if fields.get(key) is not None), None)
    if not isinstance(name, str | int) or isinstance(name, bool) or not str(name).strip():
        raise InputError(f"{where}: no id (a field {' or '.join(_IDS[:3])}; it has: {', '.join(map(str, fields))})")
    text = next((fields[key] for key in _TEXTS if fields.get(key) is not None), None)
    title = fields.get("title") or ""
    if not isinstance(text, str) or not isinstance(title, str):
        raise InputError(f"{where}: '{name}' has no text (a field {' or '.join(_TEXTS[:3])})")
    document = Document(str(name), title_and_text(title, text))
    try:
        f"{document.id}{document.text}".encode()
    except UnicodeEncodeError:
        raise InputError(f"{where}: holds half of a surrogate pair, which is no text") from None
    return document
