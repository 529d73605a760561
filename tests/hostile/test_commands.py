"""Every hostile file, given to the real command with little memory: one line, exit status 2, nothing left behind."""

import subprocess
import sys

import pytest

from tests.hostile.files import CASES, lay_out, on_disk
from tests.hostile.limited import run_limited

PEAK = 700 << 20
"""Bytes of memory that a refusal may take; the command itself takes some 250 MB before it has read anything."""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of memory and files of zeros are Linux's")


@pytest.fixture
def folder(tmp_path):
    lay_out(tmp_path)
    return tmp_path


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_hostile_file_is_refused_in_one_line(folder, case):
    if case.spoil is not None:
        case.spoil(folder)
    assert on_disk(folder) < 100 << 20
    before = {path.name for path in folder.iterdir()}
    if case.feed is None:
        ended = run_limited(case.command.split(), folder)
    else:
        with open(case.feed, "rb") as feed:
            ended = run_limited(case.command.split(), folder, feed)
    assert ended.status == 2, ended
    assert ended.err.count("\n") == 1, ended.err
    assert ended.err.startswith("surecut: ")
    assert len(ended.err) < 2500
    assert case.said in ended.err
    assert ended.out == ""
    assert ended.peak < PEAK, f"{ended.peak / 1e6:.0f} MB"
    left = {path.name for path in folder.iterdir()} - before - {".out", ".err", ".cache", "out", "surecut-monitor.db"}
    assert left == set()


@pytest.mark.parametrize("command", ["calibrate --retriever - --reranker rer.run", "prune cert.json --retriever -"])
def test_lines_without_end_are_refused_when_they_do_not_fit(folder, command):
    endless = subprocess.Popen(["yes", "q1 Q0 document 1 17.25 endless"], stdout=subprocess.PIPE)
    try:
        ended = run_limited(command.split(), folder, endless.stdout, addresses=4 << 30)
    finally:
        endless.kill()
        endless.stdout.close()
        endless.wait()
    assert (ended.status, ended.out) == (2, "")
    assert ended.err == "surecut: -: does not fit in memory; give it in parts, or shorter lists\n"


def test_the_same_commands_work_on_good_files(folder):
    for command in (
        "calibrate --retriever ret.run --reranker rer.run --qrels qrels.txt --max-drop 50% -o again.json",
        "prune cert.json --retriever ret.run -o out.run",
        "show cert.json",
    ):
        ended = run_limited(command.split(), folder)
        assert ended.status == 0, ended
        assert ended.peak < PEAK, f"{ended.peak / 1e6:.0f} MB"
