"""What is wrong with a row of a score table is said with the file that the row is in."""

import json
import tempfile
from datetime import datetime

import polars as pl
import pytest
from tests.io.tables import written

import surecut as sc
from surecut.io.table import as_parquet

PART = r"part-00001\.parquet: "


def part(first, **columns):
    """Two queries with three documents each; a column may be another."""
    rows = {
        "query_id": [f"q{first + number // 3}" for number in range(6)],
        "doc_id": ["a", "b", "c"] * 2,
        "retriever": [3.0, 2.0, 1.0] * 2,
        "reranker": [1.0, 2.0, 3.0] * 2,
    }
    return pl.DataFrame({**rows, **columns})


@pytest.fixture
def made(tmp_path):
    """Makes a table of two parts, of which the second is another."""

    def make(qrels=None, **columns):
        folder = tmp_path / "t" / "candidates"
        folder.mkdir(parents=True)
        for number, frame in enumerate((part(0), part(2, **columns))):
            (folder / f"part-{number:05d}.parquet").write_bytes(as_parquet(frame))
        if qrels is not None:
            (folder.parent / "qrels.parquet").write_bytes(as_parquet(pl.DataFrame(qrels)))
        return folder.parent

    return make


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (
            {"retriever": [3.0, float("nan"), 1.0] * 2},
            "the retriever score of query 'q2', document 'b' is not a finite",
        ),
        ({"reranker": [3.0, float("inf"), 1.0] * 2}, "the reranker score of query 'q2', document 'b' is not a finite"),
        ({"reranker": [3.0, None, 1.0] * 2}, "the reranker has no score for query 'q2', document 'b'"),
        ({"doc_id": ["a", "b", "a"] * 2}, "the retriever has document 'a' twice for query 'q2'"),
        ({"doc_id": ["a", None, "c"] * 2}, "column 'doc_id' has empty entries"),
        ({"retriever": ["a", "b", "c"] * 2}, "column 'retriever' holds something that is not a number"),
        ({"reranker": [datetime(2026, 1, 1)] * 6}, "column 'reranker' holds something that is not a number"),
    ],
)
def test_a_row_is_named_with_its_part(made, columns, words):
    with pytest.raises(sc.InputError, match=PART + words):
        sc.read_table(made(**columns))


def test_scores_alone_are_named_with_their_part_too(made):
    scores = sc.scan_table(made(retriever=[3.0, float("nan"), 1.0] * 2)).map(len, scores_only=True)
    with pytest.raises(sc.InputError, match=PART + "the retriever score of query 'q2' is not a finite"):
        list(scores)


def test_a_column_of_another_name_is_shown(made):
    folder = made()
    part = folder / "candidates" / "part-00001.parquet"
    part.write_bytes(as_parquet(pl.read_parquet(part).rename({"query_id": "qid"})))
    with pytest.raises(sc.InputError, match=PART + r"no column 'query_id' \(it has: qid, doc_id, retriever, rera"):
        sc.scan_table(folder)


@pytest.mark.parametrize(("name", "passed_over"), [(".part-00002.parquet", True), ("part-00002.parquet.gz", False)])
def test_files_that_are_no_parts_are_refused_unless_they_are_hidden(made, name, passed_over):
    folder = made()
    (folder / "candidates" / name).touch()
    if passed_over:
        assert len(sc.scan_table(folder)) == 4
    else:
        with pytest.raises(sc.InputError, match=f"{name}: parts of a score table are named"):
            sc.scan_table(folder)


def test_parts_in_a_folder_of_their_own_are_refused(made):
    folder = made()
    deeper = folder / "candidates" / "day=1"
    deeper.mkdir()
    (folder / "candidates" / "part-00001.parquet").rename(deeper / "part-00009.parquet")
    with pytest.raises(sc.InputError, match=r"day=1/part-00009\.parquet: parts of a score table lie side by side"):
        sc.scan_table(folder)


def test_the_folder_of_the_parts_is_not_the_table(made):
    with pytest.raises(sc.InputError, match="holds the parts of a score table: name the folder that this one is in"):
        sc.scan_table(made() / "candidates")


def test_judgements_stand_in_one_place(made):
    folder = made(qrels={"query_id": ["q0"], "doc_id": ["a"], "relevance": [1]})
    for path in (folder / "candidates").iterdir():
        path.write_bytes(as_parquet(pl.read_parquet(path).with_columns(relevance=pl.lit(1))))
    with pytest.raises(sc.InputError, match=r"judgements are in qrels\.parquet, and in the column 'relevance' of"):
        sc.scan_table(folder)


@pytest.mark.parametrize(
    ("parts", "cure"), [(3, "it makes what is missing again"), (1, "remove what is not of this table"), (-1, "remove")]
)
def test_another_number_of_parts_than_declared_is_refused(made, parts, cure):
    folder = made()
    (folder / "meta.json").write_text(json.dumps({"parts": parts}))
    with pytest.raises(sc.InputError, match=f"2 parts in candidates/, and meta.json says {parts}: .*{cure}"):
        sc.scan_table(folder)


@pytest.mark.parametrize(
    ("qrels", "words"),
    [
        ({"query_id": ["q0"], "doc_id": ["a"]}, r"qrels\.parquet: the judgements have no column 'relevance'"),
        (
            {"query_id": ["q0", "q0"], "doc_id": ["a", "a"], "relevance": [1, 2]},
            r"qrels\.parquet: the judgements have two different grades for query 'q0', document 'a'",
        ),
        ({"query_id": ["q0"], "doc_id": ["a"], "relevance": [0.5]}, r"qrels\.parquet: query 'q0', document 'a': the"),
        ({"query_id": ["x"], "doc_id": ["a"], "relevance": [1]}, "begins with 'q0', they begin with 'x'"),
        (
            {"query_id": ["q0"], "doc_id": ["a"], "relevance": pl.Series([None], dtype=pl.Int32)},
            r"qrels\.parquet: there are no judgements in",
        ),
    ],
    ids=["no grades", "two grades", "half a grade", "other queries", "none at all"],
)
def test_judgements_are_named_with_their_file(made, qrels, words):
    with pytest.raises(sc.InputError, match=words):
        sc.read_table(made(qrels))


def test_a_folder_for_temporary_files_that_is_none_is_not_passed_over(made, monkeypatch):
    monkeypatch.setenv("TMPDIR", "/nowhere/at/all")
    with pytest.raises(sc.InputError, match=r"^/nowhere/at/all: cannot be written \(No such file.*TMPDIR"):
        sc.scan_table(made()).at_hand()


def test_a_folder_for_temporary_files_may_be_named_at_any_time(made, monkeypatch, tmp_path):
    tempfile.gettempdir()  # Python looks for it once
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert len(sc.scan_table(made()).at_hand()) == 4


def test_a_full_disk_is_named_with_what_to_do(table, monkeypatch):
    monkeypatch.setattr("surecut.io.spooling.TemporaryFile", lambda dir: open("/dev/full", "wb"))  # noqa: SIM115
    with pytest.raises(sc.InputError, match=r"cannot be written \(No space left on device\); name .* TMPDIR"):
        table.at_hand()


def test_a_file_that_changes_under_the_reader_is_named(tmp_path, frame, qrels):
    folder = written(tmp_path / "t", frame, qrels)
    table = sc.scan_table(folder)
    part = folder / "candidates" / "part-00000.parquet"
    part.write_bytes(as_parquet(frame.head(100)))
    with pytest.raises(sc.InputError, match=r"part-00000.parquet: was changed while it was read"):
        sc.calibrate(table)


def test_a_file_that_changes_while_its_query_ids_are_read_is_named(tmp_path, frame, qrels, monkeypatch):
    folder = written(tmp_path / "t", frame, qrels)
    part = folder / "candidates" / "part-00000.parquet"

    def reading(scan, path):
        read = scan.collect()
        part.write_bytes(as_parquet(frame.sort("query_id", maintain_order=True)))
        return read

    monkeypatch.setattr("surecut.io.parts.collected", reading)
    with pytest.raises(sc.InputError, match=r"part-00000.parquet: was changed while it was read"):
        sc.scan_table(folder)


def test_a_query_in_two_parts_is_refused(tmp_path, frame, qrels):
    folder = written(tmp_path / "t", frame, qrels)
    (folder / "candidates" / "part-00001.parquet").write_bytes(as_parquet(frame.tail(5)))
    with pytest.raises(sc.InputError, match=r"part-00001.parquet: query '399' is in part-00000.parquet too"):
        sc.scan_table(folder)


def test_odd_grades_beside_the_scores_are_refused(tmp_path, frame, qrels):
    found = qrels.join(frame, on=("query_id", "doc_id"), how="semi")
    graded = frame.join(found, on=("query_id", "doc_id"), how="left", maintain_order="left")
    odd = graded.with_columns(pl.when(pl.col("relevance").is_not_null()).then(0.5).alias("relevance"))
    folder = tmp_path / "t" / "candidates"
    folder.mkdir(parents=True)
    (folder / "part-00000.parquet").write_bytes(as_parquet(odd))
    with pytest.raises(sc.InputError, match=r"the grade '0.5' is not a whole number"):
        sc.scan_table(tmp_path / "t")
