"""The table of a trial in every format, read back."""

import csv
import io
import json
import re

import pytest

import surecut as sc
from surecut.trials.methods import Method
from surecut.trials.running import run_trials
from surecut.trials.table import as_csv, as_latex, as_markdown, cells, headings, notes


@pytest.fixture(scope="module")
def found():
    data = sc.simulate("dense-electra", 400, 40, seed=2)
    return run_trials(data, ["surecut", "est"], trials=3, target=sc.max_drop(0.2))


@pytest.fixture(scope="module")
def several():
    data, other = sc.simulate("dense-electra", 400, 40, seed=2), sc.simulate("bm25-bert", 400, 40, seed=2)
    methods = ["surecut", Method("a_b & 5%", options={"target": sc.at_least(0.2)})]
    return run_trials(data, methods, test_on=other, names=("first|one", "second"), trials=2, target=sc.max_drop(0.2))


def test_markdown_has_a_row_for_each_method(found):
    lines = [line for line in as_markdown(found).splitlines() if line.startswith("|")]
    assert [line.count("|") for line in lines] == [len(headings(found)) + 1] * 4
    assert lines[2].strip("| ").split(" | ") == cells(found, found.blocks[0].methods[0])


def test_the_notes_say_how_to_run_it_again(found):
    told = " ".join(notes(found))
    assert "seed 0" in told
    assert "3 trials" in told
    assert "at most 20% below" in told


def test_several_claims_are_named_row_by_row(several):
    assert "claim" in headings(several)
    written = as_markdown(several)
    assert "mean RR@10 is at least 0.2" in written
    assert "**calibrated on first|one, tested on second**" in written
    assert "no guarantee covers it" in written


def test_latex_escapes_what_latex_would_read(several):
    written = as_latex(several)
    body = [line for line in written.splitlines() if not line.startswith("%")]
    assert any("a\\_b \\& 5\\%" in line for line in body)
    rows = [line for line in body if line.endswith("\\\\") and "multicolumn" not in line]
    assert all(len(re.split(r"(?<!\\)&", line)) == len(headings(several)) for line in rows)
    assert len(rows) == 1 + 2 * 2


def test_csv_holds_the_numbers_unrounded(several):
    rows = list(csv.DictReader(io.StringIO(as_csv(several))))
    assert len(rows) == 4
    assert float(rows[1]["measure"]) == several.blocks[0].methods[1].measure
    assert rows[0]["calibrated_on"] == "first|one"


def test_json_is_json_though_thresholds_may_be_infinite(found):
    data = sc.simulate("dense-electra", 400, 40, seed=2)
    strict = run_trials(data, ["surecut"], trials=2, target=sc.max_drop(0.001))
    record = json.loads(json.dumps(strict.to_dict(), allow_nan=False))
    assert record["blocks"][0]["outcomes"][0][0]["threshold"] is None
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["seed"] == 0
