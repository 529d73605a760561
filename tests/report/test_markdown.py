"""Markdown for a pull request: complete tables, whatever a query is called."""

import re
from dataclasses import replace

import numpy as np
import pytest

import surecut as sc
from surecut.markdown import pipe_table
from surecut.report.gathering import gather
from surecut.report.markdown import as_markdown
from tests.report.making import CASES, DATA, assessed, certificate, report


def columns_of(line: str) -> int:
    return len(re.split(r"(?<!\\)\|", line)) - 2


def tables(text: str) -> list[list[str]]:
    return [part.splitlines() for part in re.findall(r"(?:^\|.*\n?)+", text, re.MULTILINE)]


@pytest.mark.parametrize("name", CASES)
def test_every_certificate_has_its_markdown(name):
    text = as_markdown(report(name))
    assert f"> {certificate(name).statement}" in text
    assert text.count("<details>") == text.count("</details>") >= 6
    for table in tables(text):
        assert {columns_of(line) for line in table} == {columns_of(table[0])}
    assert certificate(name).digest in text


def test_only_the_confidence_asked_for_is_listed():
    explorer = report("drop").explorer
    inside = as_markdown(report("drop")).split("Other targets")[1].split("</details>")[0]
    assert len(tables(inside)[0]) == 2 + len(explorer.targets)


def test_a_cut_fixed_in_advance_lists_no_other_targets():
    assert "Other targets" not in as_markdown(assessed())


def test_hostile_names_stay_in_their_cell():
    ids = np.array([f"a|b</details>\n|x{place}" for place in range(len(DATA))], dtype=object)
    data = replace(DATA, query_ids=ids)
    text = as_markdown(gather(sc.calibrate(data, **CASES["drop"][1]), data))
    assert text.count("<details>") == text.count("</details>")
    for table in tables(text):
        assert {columns_of(line) for line in table} == {columns_of(table[0])}


def test_a_pipe_table_aligns_numbers_to_the_right():
    assert pipe_table(("a", "b"), [("x|y", "1")]) == "| a | b |\n| --- | ---: |\n| x\\|y | 1 |"
