"""Who computes, and what models fail on, at the command line."""

import json
from pathlib import Path

import pytest
from tests.system.making import WORDS, cross_encoder

import surecut as sc

POISON = WORDS[0]  # in most documents


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("score", "tiny.toml", "--runner", "spark"), "unknown runner 'spark': known are local, ray"),
        (("score", "tiny.toml", "--workers", "2"), "are of a Ray cluster: add --runner ray"),
        (("score", "tiny.toml", "--runner", "ray", "--cpus", "nan"), "cpus must be a number of at least 0.01, not nan"),
        (("score", "tiny.toml", "--runner", "ray", "--gpus", "1.5"), "gpus must be 0, a share of one GPU"),
        (
            ("score", "tiny.toml", "--runner", "ray", "--workers", "0"),
            "workers must be a whole number of at least 1, not 0",
        ),
        (("score", "tiny.toml", "--runner", "ray", "--gpus", "-1"), "gpus must be 0, a share of one GPU"),
        (("calibrate", "--table", "table", "--address", "auto"), "are of a Ray cluster: add --runner ray"),
        (("check", "cert.json", "--table", "table", "--runner", "rey"), "unknown runner 'rey': did you mean 'ray'?"),
        (("calibrate", "--table", "table", "--runner", "ray", "--address", "127.0.0.1:1"), "at '127.0.0.1:1'"),
    ],
)
def test_what_cannot_compute_is_said_in_one_line(surecut, files, words, said):
    ended = surecut(*words)
    assert ended.status == 2
    assert said in ended.err
    assert len(ended.err.strip().splitlines()) == 1


@pytest.fixture
def poisoned(files):
    """The system of the other tests, with a word that its reranker fails on."""
    cross_encoder(files / "cross", poison=POISON)
    return Path("tiny.toml")


def test_pairs_that_failed_are_printed_by_id_with_what_to_do(surecut, poisoned):
    ended = surecut("score", "tiny.toml", "-o", "new")
    assert ended.status == 0
    failed = [line for line in ended.err.splitlines() if line.startswith("failed: query 'q")]
    assert len(failed) == 20
    assert len({line.split("'")[1] for line in failed}) == 20  # a query each
    assert " other documents)" in failed[0]
    assert all("gave a score that is not a number" in line for line in failed)
    assert "all of them are in the table's *.failed.json" in ended.err
    assert "Next: surecut calibrate --table new --missing-reranker lowest -o cert.json" in ended.out
    assert "calibrate with --missing-reranker lowest" in ended.err
    refused = surecut("calibrate", "--table", "new", "--max-drop", "50%")
    assert refused.status == 2
    assert "--missing-reranker lowest" in refused.err
    placed = surecut("calibrate", "--table", "new", "--max-drop", "50%", "--missing-reranker", "lowest")
    assert placed.status in (0, 4)
    assert "candidates without a reranker score were placed last" in placed.err
    assert surecut("plan", "--table", "new", "--max-drop", "50%", "--missing-reranker", "lowest").status == 0


def test_they_are_in_the_json_too(surecut, poisoned):
    ended = surecut("score", "tiny.toml", "-o", "new", "--json")
    told = json.loads(ended.out)
    assert told["failed"] == len(told["failures"]) > 20
    assert set(told["failures"][0]) == {"query_id", "doc_id", "reason"}
    kept = json.loads(Path("new/candidates/part-00000.failed.json").read_text())
    assert kept == told["failures"]


def test_a_part_that_is_removed_is_tried_again(surecut, poisoned, files):
    surecut("score", "tiny.toml", "-o", "new")
    Path("new/candidates/part-00000.parquet").unlink()
    again = surecut("score", "tiny.toml", "-o", "new", "--json")
    assert again.status == 0
    assert len(json.loads(again.out)["failures"]) > 20
    assert len(sc.scan_table("new")) == 80


def test_help_says_where_it_may_run(surecut):
    for verb in ("score", "calibrate", "check"):
        words = surecut(verb, "--help").words
        assert "--runner" in words
        assert "--address" in words
