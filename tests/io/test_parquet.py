"""Parquet: files that tell the truth are read, files that lie are refused by what they claim."""

import io
import os
import subprocess
import sys
import threading

import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.hostile.parquet import LIES, TRUTHS

from surecut import InputError, memory
from surecut.io.panics import panics_kept_quiet
from surecut.io.parquet import read_parquet, scan_parquet

COLUMNS = ("query_id", "doc_id", "retriever", "reranker")
ROWS = 3000
TABLE = pa.table(
    {
        "query_id": [f"q{i // 10}" for i in range(ROWS)],
        "doc_id": [None if i % 97 == 7 else f"d{i}" for i in range(ROWS)],
        "retriever": pa.array(range(ROWS), pa.float32()),
        "reranker": pa.array(range(ROWS), pa.int64()),
        "more": [[i] for i in range(ROWS)],
    }
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "some.parquet"


@pytest.mark.parametrize("file", TRUTHS.values(), ids=TRUTHS)
def test_what_is_true_is_read(path, file):
    path.write_bytes(file.content())
    assert read_parquet(path, COLUMNS).shape == (file.rows, 4)


@pytest.mark.parametrize("file", LIES.values(), ids=LIES)
def test_what_is_a_lie_is_refused(path, file, capfd):
    path.write_bytes(file.content())
    with pytest.raises(InputError, match=r"some\.parquet: (not readable as Parquet|[\d,]+ rows in|texts of)"):
        read_parquet(path, COLUMNS)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"compression": codec, "data_page_version": version, **more}, id=f"{codec}-{version}-{name}")
        for codec in ("none", "snappy", "gzip", "brotli", "zstd", "lz4")
        for version in ("1.0", "2.0")
        for name, more in {
            "plain": {"use_dictionary": False},
            "dictionary": {},
            "small": {"row_group_size": 100, "data_page_size": 64},
            "bare": {"write_statistics": False, "store_schema": False},
            "deltas": {
                "use_dictionary": False,
                "column_encoding": {
                    "query_id": "DELTA_LENGTH_BYTE_ARRAY",
                    "retriever": "BYTE_STREAM_SPLIT",
                    "reranker": "DELTA_BINARY_PACKED",
                },
            },
        }.items()
    ],
)
def test_files_of_another_writer_are_read(path, options):
    pyarrow.parquet.write_table(TABLE, path, **options)
    assert read_parquet(path, COLUMNS).to_dict(as_series=False) == TABLE.select(COLUMNS).to_pydict()


@pytest.mark.parametrize("statistics", [True, False, "full"])
@pytest.mark.parametrize("compression", ["uncompressed", "snappy", "gzip", "lz4", "zstd", "brotli"])
def test_files_of_our_own_writer_are_read(path, compression, statistics):
    frame = pl.from_arrow(TABLE)
    frame.write_parquet(path, compression=compression, statistics=statistics, row_group_size=700, data_page_size=99)
    assert read_parquet(path, COLUMNS).equals(frame.select(COLUMNS))


def test_a_file_without_rows_is_read(path):
    pl.DataFrame(schema={"query_id": pl.String, "retriever": pl.Float32}).write_parquet(path)
    assert read_parquet(path, COLUMNS).shape == (0, 2)


def test_a_nested_column_is_no_harm_until_it_is_read(path):
    pyarrow.parquet.write_table(TABLE, path)
    assert read_parquet(path, COLUMNS).height == ROWS
    with pytest.raises(InputError, match="the column 'more' holds lists or other columns"):
        read_parquet(path, ("query_id", "more"))
    with pytest.raises(InputError, match="the column 'more' holds lists or other columns"):
        read_parquet(path)


def test_a_file_without_a_known_column_says_which_it_has(path):
    pyarrow.parquet.write_table(TABLE, path)
    with pytest.raises(InputError, match=r"no column of the ones .* \(it has: query_id, doc_id, .*more\)"):
        scan_parquet(path, ("_id", "text"))


@pytest.mark.parametrize("length", [0, 3, 11, 12, 200, -1, -8, -50])
def test_a_file_that_was_cut_short_is_refused(path, length):
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(TABLE, buffer)
    path.write_bytes(buffer.getvalue()[:length])
    with pytest.raises(InputError, match="not readable as Parquet"):
        read_parquet(path, COLUMNS)


def test_folders_and_missing_files_are_named(tmp_path):
    with pytest.raises(InputError, match="a folder, not a file"):
        read_parquet(tmp_path, COLUMNS)
    with pytest.raises(InputError, match="nowhere: no such file"):
        read_parquet(tmp_path / "nowhere", COLUMNS)


def test_an_honest_table_that_does_not_fit_is_refused_before_it_is_read(path, monkeypatch):
    pyarrow.parquet.write_table(TABLE, path)
    monkeypatch.setattr(memory, "available", lambda: 100_000)
    with pytest.raises(InputError, match=r"takes at least 0\.0 GB of memory, and 0\.0 GB are free: give fewer queries"):
        read_parquet(path, COLUMNS)


def test_what_others_print_while_a_file_is_read_is_not_lost(capfd):
    with panics_kept_quiet():
        os.write(2, b"said below Python\n")
        assert capfd.readouterr().err == ""
    assert capfd.readouterr().err == "said below Python\n"


def test_the_words_of_a_panic_are_dropped(capfd):
    def panic():
        with panics_kept_quiet():
            os.write(2, b"thread panicked at row 5\n")
            raise pl.exceptions.PanicException("row 5")

    with pytest.raises(pl.exceptions.PanicException):
        panic()
    print("after", file=sys.stderr)
    assert capfd.readouterr().err == "after\n"


def test_readers_in_several_threads_leave_standard_error_as_it_was(path, capfd):
    path.write_bytes(LIES["a delta of no blocks"].content())
    refused = []

    def read():
        for _ in range(20):
            try:
                read_parquet(path, COLUMNS)
            except InputError as error:
                refused.append(error)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("after", file=sys.stderr)
    assert len(refused) == 80
    assert capfd.readouterr().err == "after\n"


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
def test_a_process_without_standard_error_reads_too(path):
    path.write_bytes(TRUTHS["a small table"].content())
    code = "import sys, pathlib, surecut.io.parquet as p; print(p.read_parquet(pathlib.Path(sys.argv[1])).height)"
    command = ["sh", "-c", '"$0" -c "$1" "$2" 2>&-', sys.executable, code, str(path)]
    assert subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=60).stdout == "4\n"


@pytest.mark.parametrize("kind", [pl.String, pl.Categorical, pl.Enum(["d" * 100_000])])
def test_a_long_text_is_counted_as_often_as_it_is_meant(path, kind):
    column = pl.Series("doc_id", ["d" * 100_000], dtype=kind).new_from_index(0, 10_000)
    column.to_frame().write_parquet(path)
    assert path.stat().st_size < 1_000_000
    with pytest.raises(InputError, match="texts of 1,000,000,000 bytes in a file of"):
        read_parquet(path)
