"""What is wrong with a row of a score table is said with the file that the row is in."""

import polars as pl
import pytest

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
def table(tmp_path):
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
    ],
)
def test_a_row_is_named_with_its_part(table, columns, words):
    with pytest.raises(sc.InputError, match=PART + words):
        sc.read_table(table(**columns))


def test_scores_alone_are_named_with_their_part_too(table):
    scores = sc.scan_table(table(retriever=[3.0, float("nan"), 1.0] * 2)).map(len, scores_only=True)
    with pytest.raises(sc.InputError, match=PART + "the retriever score of query 'q2' is not a finite"):
        list(scores)


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
        ({"query_id": ["q0"], "doc_id": ["a"], "relevance": pl.Series([None], dtype=pl.Int32)}, "no judgements among"),
    ],
    ids=["no grades", "two grades", "half a grade", "other queries", "none at all"],
)
def test_judgements_are_named_with_their_file(table, qrels, words):
    with pytest.raises(sc.InputError, match=words):
        sc.read_table(table(qrels))


def test_a_folder_for_temporary_files_that_is_none_is_not_passed_over(table, monkeypatch):
    monkeypatch.setenv("TMPDIR", "/nowhere/at/all")
    with pytest.raises(sc.InputError, match=r"^/nowhere/at/all: TMPDIR names it, and it is no folder"):
        sc.scan_table(table()).at_hand()
