"""surecut monitor and surecut recalibrate, as typed."""

import gzip
import json

import pytest

import surecut as sc


@pytest.fixture
def watched(certificate, tmp_path):
    """A certificate in a file, and a place for a store."""
    return str(certificate), str(tmp_path / "monitor.db")


def test_from_start_to_a_new_certificate(systems, watched, surecut, tmp_path):
    path, store = watched
    runs = systems["calibration"]
    begun = surecut(
        "monitor", "start", path, "--retriever", str(runs.retriever), "--store", store, "--first-look", "60"
    )
    assert begun.status == 0
    assert "compared with" in begun.err
    added = surecut("monitor", "add", path, *systems["held-out"].options, "--store", store, "--json")
    assert json.loads(added.out)["counted"]["claim"] == json.loads(added.out)["records"]
    shown = surecut("monitor", "show", path, "--store", store)
    assert shown.status == 0
    assert "believed" in shown.words
    new = surecut(
        "recalibrate", path, "--store", store, "-o", str(tmp_path / "new.json"), "--data", str(tmp_path / "data")
    )
    assert new.status in (0, 4)
    again = surecut("recalibrate", path, "--store", store, "--data", str(tmp_path / "data"))
    assert again.status == 2
    assert "name a new folder" in again.err
    made = sc.load_certificate(tmp_path / "new.json")
    assert made.calibration["look"] >= 1
    assert sc.read_table(tmp_path / "data").fingerprint() == made.calibration["fingerprint"]


def test_a_certificate_that_is_not_believed_ends_with_1(watched, surecut, tmp_path):
    path, store = watched
    lines = "".join(json.dumps({"id": f"q{number}", "measured": 0.0, "full": 1.0}) + "\n" for number in range(300))
    (tmp_path / "feedback.jsonl").write_text(lines)
    assert surecut("monitor", "add", path, "--feedback", str(tmp_path / "feedback.jsonl"), "--store", store).status == 0
    shown = surecut("monitor", "show", path, "--store", store)
    assert shown.status == 1
    assert "not believed" in shown.words
    assert "surecut monitor restart" in shown.words
    record = json.loads(surecut("monitor", "show", path, "--store", store, "--json").out)
    assert record["belief"] == "not believed"
    assert surecut("monitor", "restart", path, "--store", store).status == 0
    assert surecut("monitor", "show", path, "--store", store).status == 1
    assert surecut("monitor", "restart", path, "--store", store, "--believe-again").status == 0
    assert surecut("monitor", "show", path, "--store", store).status == 0


def test_feedback_may_be_packed(watched, surecut, tmp_path):
    path, store = watched
    (tmp_path / "feedback.jsonl.gz").write_bytes(gzip.compress(b'{"id": "a", "overlap": 1}\n'))
    added = surecut("monitor", "add", path, "--feedback", "feedback.jsonl.gz", "--store", store)
    assert added.status == 0
    assert "watched from here on" in added.err
    assert "1 records" in added.err


def test_feedback_comes_from_standard_input_too(watched, surecut):
    path, store = watched
    added = surecut("monitor", "add", path, "--feedback", "-", "--store", store, stdin=b'{"id": "a", "overlap": 1}\n')
    assert added.status == 0
    assert "1 records: 0 for the claim, 1 for the agreement" in added.err


def test_the_store_may_be_named_by_the_environment(watched, surecut, monkeypatch):
    path, store = watched
    monkeypatch.setenv("SURECUT_MONITOR", store)
    assert surecut("monitor", "start", path).status == 0
    assert surecut("monitor", "show", path).status == 0


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["show"], "no such database"),
        (["restart"], "no such database"),
        (["add"], "give the feedback as"),
        (["add", "--feedback", "nowhere.jsonl"], "nowhere.jsonl: No such file"),
        (["start", "--alarm-at", "1"], "evidence begins at 1"),
        (["start", "--agreement", "0.9@x"], "write it like 0.95@10"),
    ],
)
def test_what_is_wrong_is_one_line_and_status_2(watched, surecut, words, complaint):
    path, store = watched
    ended = surecut("monitor", words[0], path, *words[1:], "--store", store)
    assert ended.status == 2
    assert complaint in ended.err
    assert ended.err.count("\n") == 1


def test_monitor_alone_shows_its_verbs(surecut):
    ended = surecut("monitor")
    assert ended.status == 2
    assert "restart" in ended.words
    assert ended.err == ""
