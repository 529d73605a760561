"""Where collections come from: BEIR folders and zips, JSONL and Parquet files, ir_datasets."""

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from surecut.errors import InputError
from surecut.extras import needed
from surecut.io.trec import read_qrels
from surecut.io.unpacking import text_lines
from surecut.judgements import QREL_COLUMNS
from surecut.system.archives import opened_member
from surecut.system.records import read_lines, read_records, readable
from surecut.system.texts import Document, title_and_text


class Source(Protocol):
    """A collection that can be streamed."""

    @property
    def name(self) -> str: ...

    @property
    def queries_name(self) -> str:
        """Where its queries are, for whoever has to mend them."""
        ...

    def identity(self) -> list[Any]:
        """What tells its documents from other ones, and a changed file from an unchanged one, without reading it."""
        ...

    def documents(self) -> Iterator[Document]: ...

    def queries(self) -> Iterator[Document]: ...

    def qrels(self) -> pl.DataFrame | None:
        """query_id doc_id relevance, or nothing."""
        ...


@dataclass(frozen=True)
class Beir:
    """A BEIR folder, or the zip of one: corpus.jsonl, queries.jsonl, qrels/*.tsv."""

    path: Path
    splits: Sequence[str] = ("test",)

    @property
    def name(self) -> str:
        return str(self.path)

    @property
    def queries_name(self) -> str:
        return f"{self.path}/queries.jsonl"

    def identity(self) -> list[Any]:
        return _stamp(self.path if self.path.is_file() else self.path / "corpus.jsonl")

    def documents(self) -> Iterator[Document]:
        return read_lines(lambda: self._open("corpus.jsonl"), f"{self.path}/corpus.jsonl")

    def queries(self) -> Iterator[Document]:
        return read_lines(lambda: self._open("queries.jsonl"), self.queries_name)

    def qrels(self) -> pl.DataFrame:
        parts = []
        for split in self.splits:
            member = f"{self.path}/qrels/{split}.tsv"
            with readable(member), self._open(f"qrels/{split}.tsv") as file:
                parts.append(read_qrels(member, text_lines(file, member)))
        return pl.concat(parts)

    def _open(self, member: str) -> io.BufferedReader:
        if not self.path.exists():
            raise InputError(f"{self.path}: no such folder or zip")
        try:
            if not self.path.is_dir():
                return opened_member(self.path, member)
            if (self.path / member).is_file():
                return (self.path / member).open("rb")
        except FileNotFoundError:
            pass
        except (OSError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{self.path}: {getattr(error, 'strerror', None) or error}") from None
        raise InputError(
            f"{self.path}: no {member} in it; a BEIR collection has corpus.jsonl, queries.jsonl, qrels/*.tsv"
        )


@dataclass(frozen=True)
class Files:
    """Documents and queries in JSONL or Parquet files, judgements in a qrels file."""

    documents_path: Path
    queries_path: Path
    qrels_path: Path | None = None

    @property
    def name(self) -> str:
        return str(self.documents_path)

    @property
    def queries_name(self) -> str:
        return str(self.queries_path)

    def identity(self) -> list[Any]:
        return _stamp(self.documents_path)

    def documents(self) -> Iterator[Document]:
        return read_records(self.documents_path)

    def queries(self) -> Iterator[Document]:
        return read_records(self.queries_path)

    def qrels(self) -> pl.DataFrame | None:
        return None if self.qrels_path is None else read_qrels(self.qrels_path)


@dataclass(frozen=True)
class IrDataset:
    """A data set known to ir_datasets, such as msmarco-passage/dev/small or beir/quora/test."""

    dataset_id: str

    @property
    def name(self) -> str:
        return self.dataset_id

    @property
    def queries_name(self) -> str:
        return self.dataset_id

    def identity(self) -> list[Any]:
        self._load()  # refuses a name that is not known
        return ["ir_datasets", needed("ir_datasets", "ir-datasets").docs_parent_id(self.dataset_id)]

    def documents(self) -> Iterator[Document]:
        for each in self._iterate("docs"):
            yield Document(each.doc_id, _text(each))

    def queries(self) -> Iterator[Document]:
        for each in self._iterate("queries"):
            yield Document(each.query_id, _text(each))

    def qrels(self) -> pl.DataFrame | None:
        if not self._load().has_qrels():
            return None
        rows = [(each.query_id, each.doc_id, each.relevance) for each in self._iterate("qrels")]
        return pl.DataFrame(rows, schema=list(QREL_COLUMNS), orient="row")

    def _load(self) -> Any:
        library = needed("ir_datasets", "ir-datasets")
        try:
            return library.load(self.dataset_id)
        except KeyError:
            raise InputError(f"ir_datasets knows no data set '{self.dataset_id}'") from None

    def _iterate(self, part: str) -> Iterable[Any]:
        try:
            yield from getattr(self._load(), f"{part}_iter")()
        except AttributeError:
            raise InputError(f"the data set '{self.dataset_id}' of ir_datasets has no {part}") from None
        except (OSError, RuntimeError) as error:
            raise InputError(f"ir_datasets could not read {part} of '{self.dataset_id}': {error}") from None


def _text(record: Any) -> str:
    """Title and text; where a record has no field of that name, what it calls its default text, title and all."""
    if not hasattr(record, "text"):
        return str(record.default_text() or "").strip()
    return title_and_text(getattr(record, "title", None) or "", record.text or "")


def _stamp(path: Path) -> list[Any]:
    """A file's place, size and time: a changed one is read again."""
    try:
        found = path.stat()
    except OSError as error:
        raise InputError(f"{path}: {(error.strerror or 'cannot be read').lower()}") from None
    return [str(path.resolve()), found.st_size, found.st_mtime_ns]
