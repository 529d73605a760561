"""Score tables: folders of Parquet, whole or in parts, with or without judgements and meta.json."""

import itertools
import json
import os
from datetime import date

import numpy as np
import polars as pl
import pytest

from surecut import Candidates, InputError, calibrate, max_drop, read_table, simulate, write_table

QUERIES, DEPTH = 40, 6
NAMES = {"retriever": "bm25-2024", "reranker": "mono-large"}


@pytest.fixture
def data():
    return simulate("graded", queries=QUERIES, depth=DEPTH, seed=5, ties=True)


@pytest.fixture
def table(data, tmp_path):
    folder = tmp_path / "scores"
    write_table(data, folder, {"fingerprints": NAMES, "retriever": "BM25 (k1=0.9)"})
    return folder


def rewrite(table, name, change):
    """Change one of the table's Parquet files."""
    change(pl.read_parquet(table / name)).write_parquet(table / name)


def in_parts(table, last=lambda part: part):
    """Move the candidates into three part files, the last one changed."""
    whole = pl.read_parquet(table / "candidates.parquet")
    (table / "candidates.parquet").unlink()
    (table / "candidates").mkdir()
    edges = (0, 10 * DEPTH, 25 * DEPTH, QUERIES * DEPTH)
    for number, (low, high) in enumerate(itertools.pairwise(edges)):
        part = whole.slice(low, high - low)
        part = last(part) if number == 2 else part
        part.write_parquet(table / "candidates" / f"part-{number:05d}.parquet")


def test_a_table_gives_back_what_was_written(data, table):
    back = read_table(table)
    assert back.fingerprint() == data.fingerprint()
    assert back.query_ids.tolist() == data.query_ids.tolist()
    assert back.retriever.tobytes() == data.retriever.tobytes()
    assert back.reranker.tobytes() == data.reranker.tobytes()
    assert np.array_equal(back.missed, data.missed)


def test_documents_and_groups_survive_the_round_trip(tmp_path):
    data = Candidates.from_arrays(
        [[2.0, 1.0], [2.0, 2.0]],
        [[0.1, 0.2], [0.3, 0.4]],
        [[0, 3], [1, 0]],
        query_ids=["007", "é"],
        doc_ids=[["01", "1"], ["b", "a"]],
        group=["g", "g"],
    )
    write_table(data, tmp_path / "t")
    back = read_table(tmp_path / "t")
    assert back.doc_ids.to_list() == ["01", "1", "b", "a"]
    assert back.groups.tolist() == ["g", "g"]
    assert back.fingerprint() == data.fingerprint()


def test_part_files_read_as_one(data, table):
    in_parts(table)
    assert read_table(table).fingerprint() == data.fingerprint()


def test_the_time_and_names_in_meta_leave_the_data_alone(data, table):
    meta = json.loads((table / "meta.json").read_text())
    assert meta["depth"] == DEPTH
    (table / "meta.json").write_text(json.dumps({**meta, "time": "2024-01-01"}))
    assert read_table(table).fingerprint() == data.fingerprint()


def test_the_system_comes_from_the_fingerprints(table):
    assert read_table(table).system == NAMES
    (table / "meta.json").unlink()
    assert read_table(table).system == {}


@pytest.mark.parametrize(
    "name",
    [
        "retriever:dense",
        "title",
        "rank",
        "score",
    ],
)
def test_extra_columns_are_ignored(data, table, name):
    rewrite(table, "candidates.parquet", lambda frame: frame.with_columns(pl.lit(1.0).alias(name)))
    assert read_table(table).fingerprint() == data.fingerprint()


def test_extra_columns_of_one_part_are_ignored(data, table):
    in_parts(table, last=lambda part: part.with_columns(pl.lit(1.0).alias("retriever:dense")))
    assert read_table(table).fingerprint() == data.fingerprint()


def test_rows_may_come_in_any_order(data, table):
    rewrite(table, "candidates.parquet", lambda frame: frame.sample(fraction=1.0, shuffle=True, seed=0))
    rewrite(table, "qrels.parquet", lambda frame: frame.reverse())
    assert read_table(table).fingerprint() == data.fingerprint()


def test_a_table_without_judgements_is_unjudged(table):
    (table / "qrels.parquet").unlink()
    assert not read_table(table).judged.any()


def test_depth_cuts_and_counts_what_lies_beyond_as_missed(data, table):
    cut = read_table(table, depth=2)
    assert cut.lengths.max() == 2
    assert cut.fingerprint() == data.cut(2).fingerprint()


def test_null_reranker_scores_are_missing_scores(table):
    hole = pl.when(pl.int_range(pl.len()) == 3).then(None).otherwise(pl.col("reranker"))
    rewrite(table, "candidates.parquet", lambda frame: frame.with_columns(hole.alias("reranker")))
    with pytest.raises(InputError, match=r"no score for query 'graded-0'.*--depth 3"):
        read_table(table)
    assert read_table(table, depth=3).lengths.max() == 3
    assert read_table(table, missing_reranker="lowest").census.filled_reranked == 1


def test_what_is_no_table_is_refused(tmp_path, table):
    with pytest.raises(InputError, match="no such folder"):
        read_table(tmp_path / "nowhere")
    with pytest.raises(InputError, match="is a file, where a folder is expected"):
        read_table(table / "meta.json")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"neither candidates\.parquet nor candidates/part-"):
        read_table(tmp_path / "empty")


@pytest.mark.parametrize("name", ["candidates.parquet", "qrels.parquet"])
@pytest.mark.parametrize("content", [b"", b"no parquet at all", b"PAR1 neither PAR1"])
def test_a_broken_parquet_file_is_named(table, name, content):
    (table / name).write_bytes(content)
    with pytest.raises(InputError, match=f"{name}: not readable as Parquet"):
        read_table(table)


def test_a_broken_part_is_named(table):
    in_parts(table)
    (table / "candidates" / "part-00001.parquet").write_bytes(b"no parquet at all")
    with pytest.raises(InputError, match=r"part-00001\.parquet: not readable"):
        read_table(table)


@pytest.mark.parametrize(
    "content", [b"{", b"[]", b"\xff\xfe", b'{"fingerprints": 3}', b'{"parts": "x"}', b'{"parts": true}']
)
def test_a_broken_meta_file_is_named(table, content):
    (table / "meta.json").write_bytes(content)
    with pytest.raises(InputError, match=r"meta\.json"):
        read_table(table)


@pytest.mark.parametrize("column", ["query_id", "doc_id", "retriever"])
def test_a_missing_column_is_named(table, column):
    rewrite(table, "candidates.parquet", lambda frame: frame.drop(column))
    with pytest.raises(InputError, match=f"no column '{column}'"):
        read_table(table)


@pytest.mark.parametrize("column", ["retriever", "reranker"])
def test_scores_that_are_text_are_an_input_error(table, column):
    rewrite(table, "candidates.parquet", lambda frame: frame.with_columns(pl.lit("high").alias(column)))
    with pytest.raises(InputError, match=column):
        read_table(table)


def test_a_document_twice_in_a_query_is_refused(table):
    rewrite(table, "candidates.parquet", lambda frame: pl.concat((frame, frame.head(1))))
    with pytest.raises(InputError, match=r"document '.*' twice for query 'graded-0'"):
        read_table(table)


def test_an_unwritable_folder_is_an_input_error(data, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match="cannot be written"):
        write_table(data, tmp_path / "file")


def test_the_depth_is_the_one_that_was_asked_for_not_the_longest_list(tmp_path, data):
    write_table(data, tmp_path / "t", {"depth": 1000})
    assert read_table(tmp_path / "t").depth == 1000
    certificate = calibrate(read_table(tmp_path / "t"), target=max_drop(0.5))
    assert (certificate.depth, certificate.calibration["longest_list"]) == (1000, DEPTH)
    cut = read_table(tmp_path / "t", depth=4)
    assert (cut.depth, calibrate(cut, target=max_drop(0.5)).depth) == (4, 4)
    write_table(read_table(tmp_path / "t"), tmp_path / "again")
    assert read_table(tmp_path / "again").depth == 1000


@pytest.mark.parametrize("depth", ["many", None, 2])
def test_a_depth_that_cannot_be_counts_for_nothing(tmp_path, data, depth):
    write_table(data, tmp_path / "t", {"depth": depth})
    assert calibrate(read_table(tmp_path / "t"), target=max_drop(0.5)).depth == DEPTH


NO_IDS = {"dates": [date(2020, 1, 1)] * 4, "bytes": [b"q"] * 4, "truth": [True] * 4, "lists": [["q"]] * 4}
NO_NUMBERS = {"bytes": [b"1"] * 4, "lists": [[1.0]] * 4, "structs": [{"a": 1.0}] * 4, "words": list("abcd")}


@pytest.mark.parametrize(
    ("column", "values"),
    [
        *(pytest.param("query_id", values, id=f"ids-{kind}") for kind, values in NO_IDS.items()),
        *(pytest.param("doc_id", values, id=f"documents-{kind}") for kind, values in NO_IDS.items()),
        *(pytest.param("retriever", values, id=f"scores-{kind}") for kind, values in NO_NUMBERS.items()),
        *(pytest.param("reranker", values, id=f"second-scores-{kind}") for kind, values in NO_NUMBERS.items()),
        *(pytest.param("relevance", values, id=f"grades-{kind}") for kind, values in NO_NUMBERS.items()),
    ],
)
def test_columns_of_other_types_are_refused(tmp_path, column, values):
    frame = pl.DataFrame({"query_id": "q", "doc_id": list("abcd"), "retriever": 1.0, "reranker": 2.0, "relevance": 1})
    frame.with_columns(pl.Series(column, values)).write_parquet(tmp_path / "candidates.parquet")
    with pytest.raises(InputError, match=f"'{column}'|the grade 'a' is not"):
        read_table(tmp_path)
    with pytest.raises(InputError, match=f"{column}|the grade"):
        Candidates.from_frame(frame.with_columns(pl.Series(column, values)))


def test_parts_of_different_columns_are_refused(tmp_path):
    (tmp_path / "candidates").mkdir()
    for column in ("reranker", "group"):
        frame = pl.DataFrame({"query_id": "q", "doc_id": ["d"], "retriever": 1.0, column: "2"})
        frame.write_parquet(tmp_path / "candidates" / f"part-{column}.parquet")
    with pytest.raises(InputError, match="candidates: its parts have different columns"):
        read_table(tmp_path)


def test_a_pipe_in_the_place_of_a_part_is_no_file(table):
    in_parts(table)
    os.mkfifo(table / "candidates" / "part-00003.parquet")
    with pytest.raises(InputError, match=r"part-00003\.parquet: not a file"):
        read_table(table)
