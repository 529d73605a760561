"""surecut trials on small data: formats, methods of one's own, wrong words."""

import csv
import io
import json
import re
from dataclasses import replace

import numpy as np
import pytest

import surecut as sc
from surecut.cli.values import named_method
from surecut.trials.running import run_trials

QUICK = ("--table", "example:scifact-bm25-bge", "--max-drop", "5%", "--trials", "2", "--method", "surecut")


TWO = ("--calibrate-on", "example:scifact-bm25-bge", "--test-on", "example:nfcorpus-bm25-bge")


def test_the_table_has_a_row_for_each_method_and_says_how_to_run_it_again(surecut):
    shown = surecut("trials", *QUICK, "--method", "est")
    assert shown.status == 0
    assert "surecut 0." in shown.words
    assert "est 0." in shown.words
    assert "2 trials, 463 calibration and 646 test queries, seed 0" in shown.words


def test_json_holds_what_the_library_finds(surecut):
    shown = surecut("trials", *QUICK, "--json")
    data = sc.read_table("example:scifact-bm25-bge")
    found = run_trials(data, ["surecut"], trials=2, target=sc.max_drop(0.05), names=["scifact-bm25-bge"])
    assert json.loads(shown.out) == json.loads(json.dumps(found.to_dict()))


@pytest.mark.parametrize(
    ("written", "begins"), [("md", "**calibrated"), ("latex", "% Claim"), ("csv", "calibrated_on")]
)
def test_every_format_goes_to_a_file_or_to_standard_output(surecut, tmp_path, written, begins):
    shown = surecut("trials", *QUICK, "--format", written)
    assert shown.out.startswith(begins)
    told = surecut("trials", *QUICK, "--format", written, "-o", tmp_path / "found")
    assert (tmp_path / "found").read_text() == shown.out
    assert "written to" in told.err


def test_the_name_of_the_file_says_the_format(surecut, tmp_path):
    for name, begins in (("a.md", "**calibrated"), ("a.tex", "% Claim"), ("a.csv", "calibrated_on"), ("a.json", "{")):
        assert surecut("trials", *QUICK, "-o", name).status == 0
        assert (tmp_path / name).read_text().startswith(begins)


def test_a_method_of_ones_own_may_differ_in_anything_calibrate_takes(surecut):
    own = "steep=surecut:rule=softmax(scale=0.5, rank_prior=1),test=wsr,max-drop=10%,confidence=95%,min-keep=2"
    shown = surecut("trials", *QUICK, "--method", own, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(shown.out)))
    assert [row["method"] for row in rows] == ["surecut", "steep"]
    assert rows[1]["claim"] == "mean RR@10 is at most 10% below reranking everything"
    assert float(rows[1]["confidence"]) == 0.95


def test_methods_are_read_as_calibrate_names_its_options():
    read = named_method("by-rank=surecut:rule=rank,test=wsr,at-least=0.38,max-keep=50,fusion=fit")
    assert read.name == "by-rank"
    assert read.options == {
        "rule": "rank",
        "test": "wsr",
        "target": sc.at_least(0.38),
        "max_keep": 50,
        "fusion": "fit",
    }
    assert named_method("est:rule=rank").name == "est:rule=rank"
    assert named_method("est:rule=rank").options == {"procedure": "est", "rule": "rank"}


def test_other_data_are_named_and_what_differs_is_said(surecut):
    shown = surecut("trials", *TWO, *QUICK[2:])
    assert shown.status == 0
    assert "calibrated on scifact-bm25-bge, tested on nfcorpus-bm25-bge" in shown.words
    assert "calibrated and tested on nfcorpus-bm25-bge" in shown.words
    assert "the score profile (softmax share of the first candidate) is distributed otherwise" in shown.words


def test_no_digit_is_left_out_where_there_is_little_room(surecut, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    shown = surecut("trials", *QUICK, "--method", "a-name-that-takes-a-lot-of-room=surecut:rule=rank,test=wsr")
    assert "…" not in shown.out
    assert "a-name-that-takes-a-lot-of-room 0." in shown.words


def test_without_judgements_on_either_side_the_published_procedure_is_left_out(surecut, tmp_path):
    data = sc.read_table("example:nfcorpus-bm25-bge")
    sc.write_table(replace(data, judged=np.zeros(len(data), dtype=bool)), tmp_path / "logged")
    given = ("--calibrate-on", "logged", "--test-on", "example:nfcorpus-bm25-bge", "--agreement", "0.8@5")
    shown = surecut("trials", *given, "--trials", "1")
    assert shown.status == 0
    assert "cec is left out" in shown.err


def test_it_is_said_where_the_published_procedure_could_not_search(surecut):
    given = ("--simulated", "lured", "--queries", "300", "--depth", "200", "--at-least", "0.44", "--trials", "3")
    shown = surecut("trials", *given, "--method", "cec", "--method", "surecut")
    ended = re.findall(r"(\S+), calibrated and tested on simulated lured: in \d of 3 trials its search", shown.words)
    assert ended == ["cec"]


def test_a_simulated_system_is_drawn_from_its_own_seed(surecut):
    shown = surecut(
        "trials",
        "--simulated",
        "lured",
        "--queries",
        "200",
        "--depth",
        "30",
        *QUICK[2:],
        "--seed",
        "5",
        "--format",
        "csv",
    )
    (row,) = csv.DictReader(io.StringIO(shown.out))
    assert row["tested_on"] == "simulated lured"
    data = sc.simulate("lured", 200, 30, seed=5)
    found = run_trials(data, ["surecut"], trials=2, target=sc.max_drop(0.05), seed=5)
    assert float(row["measure"]) == found.blocks[0].methods[0].measure


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((*QUICK, "--method", "foo"), "unknown method 'foo'"),
        ((*QUICK, "--method", "surecut:rulle=rank"), "did you mean 'rule'"),
        ((*QUICK, "--method", "x=surecut:min-keep=two"), "not a whole number"),
        ((*QUICK, "--method", "x=surecut:rule=bar"), "unknown rule 'bar'"),
        ((*QUICK, "--calibration", "5000"), "there are only 1,109"),
        ((*QUICK, "--format", "xls"), "unknown format 'xls'"),
        ((*QUICK, "--simulated", "lured"), "give the data once"),
        ((*QUICK, "--queries", "5"), "add --simulated"),
        (("--calibrate-on", "example:scifact-bm25-bge"), "belong together"),
        ((), "give the data as"),
        ((*QUICK, "-o", "found.xls"), "name the file .md, .tex, .csv or .json"),
        ((*QUICK, "--method", "x=cec:rule=rank"), "'x': rule has no effect on cec"),
        (("--calibrate-on", "example:scifact-bm25-bge", "--test-on", "example:scifact-bm25-bge"), "are the same"),
        ((*TWO, "--max-drop", "5%", "--calibration", "400"), "nfcorpus-bm25-bge is calibrated on too, for comparison"),
        ((*QUICK, "--method", "x=surecut:rule=rank,rule=score"), "rule is given twice"),
        ((*QUICK, "--method", "x=surecut:min-keep=5,max-keep=3"), "method 'x': max_keep must be"),
        ((*QUICK, "--format", "rich", "-o", "found.txt"), "the rich table is for the terminal"),
        ((*QUICK, "--json", "--format", "csv"), "--json and --format csv are both given"),
        ((*QUICK, "-o", "-"), "-: name a file"),
    ],
)
def test_a_slip_is_one_line(surecut, options, words):
    shown = surecut("trials", *options)
    assert shown.status == 2
    assert words in shown.err
    assert len(shown.err.strip().splitlines()) == 1
