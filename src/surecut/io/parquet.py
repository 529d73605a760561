"""Parquet files, read once what they claim of themselves is borne out."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from surecut.errors import InputError
from surecut.io.limits import most_unpacked
from surecut.io.panics import panics_kept_quiet
from surecut.io.parquet_claims import NotParquet, refuse_lies
from surecut.memory import refuse_beyond_memory


def read_parquet(path: Path, known: Collection[str] | None = None) -> pl.DataFrame:
    """Those of the known columns that a file has, or all."""
    refuse_beyond_memory(_checked(path, known), path)
    frame = collected(_scanned(path, known), path)
    refuse_endless_texts(text_bytes(frame), path)
    return frame


def scan_parquet(path: Path, known: Collection[str] | None = None) -> pl.LazyFrame:
    """The same, to be read piece by piece with `collected`."""
    _checked(path, known)
    return _scanned(path, known)


def _checked(path: Path, known: Collection[str] | None) -> int:
    if not path.is_file():
        what = "a folder, not a file" if path.is_dir() else "not a file" if path.exists() else "no such file"
        raise InputError(f"{path}: {what}")
    return refuse_lies(path, known)


def _scanned(path: Path, known: Collection[str] | None) -> pl.LazyFrame:
    with _readable(path):
        scan = pl.scan_parquet(path, glob=False)
        columns = scan.collect_schema().names()
    read = [name for name in columns if known is None or name in known]
    if not read:
        raise InputError(f"{path}: no column of the ones that are read here (it has: {', '.join(columns)})")
    return scan.select(read)


def collected(scan: pl.LazyFrame, path: Path) -> pl.DataFrame:
    """What a scan reads; a file that turns out to be damaged is named."""
    with _readable(path):
        return scan.collect()


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        with panics_kept_quiet():
            yield
    except pl.exceptions.PanicException:
        raise NotParquet(path, "its content is damaged") from None
    except (OSError, pl.exceptions.PolarsError) as error:
        raise NotParquet(path, error) from None


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Whatever is refused of its content is refused by the file's name."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{path}: {error.sentence}", error.commands) from None


def text_bytes(frame: pl.DataFrame) -> int:
    """How long its texts are, together, each counted as often as it is meant."""
    lengths = (
        column.cat.len_bytes() if column.dtype in (pl.Categorical, pl.Enum) else column.str.len_bytes()
        for column in frame
        if column.dtype in (pl.String, pl.Categorical, pl.Enum)
    )
    return sum(int(length.cast(pl.UInt64).sum()) for length in lengths)


def refuse_endless_texts(total: int, path: Path) -> None:
    """A text that stands in a dictionary once may be meant a million times."""
    size = path.stat().st_size
    if total > most_unpacked(size):
        raise InputError(f"{path}: texts of {total:,} bytes in a file of {size:,}, as no table of scores or texts has")
