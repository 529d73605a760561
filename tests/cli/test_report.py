"""surecut report: page, Markdown, figures and JSON from the same words; wrong words are one line."""

import json

import pytest

import surecut as sc
from surecut.io.writing import write_trec
from surecut.report.writing import write_report


@pytest.fixture
def options(systems, certificate):
    return ["report", certificate, *systems["calibration"].options]


def test_a_page_is_written_and_the_user_is_told_where(surecut, options, tmp_path):
    shown = surecut(*options, "-o", "report.html")
    assert shown.status == 0
    assert "written to report.html; open it in a browser" in shown.err
    page = (tmp_path / "report.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "surecut report" in page
    assert "-o report.html" in page, "the command that made it is on the page"


def test_markdown_goes_to_standard_output_or_by_the_name_of_the_file(surecut, options, tmp_path):
    shown = surecut(*options, "--format", "md")
    assert shown.out.startswith("### ✓ surecut: certified")
    surecut(*options, "-o", "report.md")
    assert (tmp_path / "report.md").read_text().startswith("### ✓ surecut: certified")


def test_figures_alone(surecut, options, tmp_path):
    shown = surecut(*options, "--figures", "drawn")
    assert shown.status == 0
    assert shown.out == ""
    assert "5 figures, each as png and svg, written to drawn" in shown.err
    assert len(list((tmp_path / "drawn").glob("*.svg"))) == 5


def test_json_holds_the_report(surecut, options, certificate, tmp_path):
    printed = surecut(*options, "--json").out
    surecut(*options, "-o", "report.json")
    record = json.loads((tmp_path / "report.json").read_text())
    assert {**record, "command": ""} == {**json.loads(printed), "command": ""}
    assert record["certificate"]["digest"] == sc.load_certificate(certificate).digest
    assert record["explorer"]["targets"]


def test_held_out_queries_may_be_a_folder_of_run_files(surecut, options, systems, tmp_path):
    runs = systems["held-out"]
    write_trec(sc.read_trec(runs.retriever, runs.reranker, runs.qrels), tmp_path / "runs")
    assert surecut(*options, "--held-out", "runs", "-o", "report.md").status == 0
    assert "On queries it has not seen: Not contradicted." in (tmp_path / "report.md").read_text()


def test_held_out_queries_that_contradict_end_with_1(surecut, options, systems, tmp_path):
    worse = systems["worse"]
    sc.write_table(sc.read_trec(worse.retriever, worse.reranker, worse.qrels), tmp_path / "worse")
    shown = surecut(*options, "--held-out", "worse", "-o", "report.html")
    assert shown.status == 1
    assert "Contradicted by these queries." in shown.err
    assert "Contradicted by these queries." in (tmp_path / "report.html").read_text()


def test_the_library_writes_the_same_page(surecut, options, systems, certificate, tmp_path):
    runs = systems["calibration"]
    data = sc.read_trec(runs.retriever, runs.reranker, runs.qrels)
    surecut(*options, "-o", "report.md")
    write_report(sc.load_certificate(certificate), data, tmp_path / "other.md", figures=tmp_path / "drawn")
    told, other = ((tmp_path / name).read_text() for name in ("report.md", "other.md"))
    assert other.split("The data and the certificate")[0] == told.split("The data and the certificate")[0]
    assert (tmp_path / "drawn" / "changes.png").exists()
    with pytest.raises(sc.InputError, match=r"name the file \.html, \.md or \.json"):
        write_report(sc.load_certificate(certificate), data, tmp_path / "report.pdf")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((), "a page needs a file: add -o report.html"),
        (("--format", "html"), "a page needs a file"),
        (("--format", "pdf", "-o", "x"), "unknown format 'pdf'"),
        (("-o", "report.pdf"), "name the file .html, .md or .json"),
        (("-o", "no/such/folder/report.html"), "there is no folder"),
        (("--format", "md", "-o", "."), "is a folder"),
        (("-o", "-"), "-: name a file"),
        (("--json", "--format", "md"), "--json and --format md are both given"),
    ],
)
def test_a_slip_is_one_line(surecut, options, given, words):
    shown = surecut(*options, *given)
    assert shown.status == 2
    assert words in shown.err
    assert len(shown.err.strip().splitlines()) == 1


def test_figures_that_cannot_be_written_are_refused_before_anything_is(surecut, options, certificate, tmp_path):
    shown = surecut(*options, "-o", "report.html", "--figures", certificate / "figures")
    assert shown.status == 2
    assert f"cannot be made ({certificate} is a file)" in shown.err
    assert list(tmp_path.iterdir()) == []


def test_held_out_lists_that_are_too_long_are_refused_as_check_does(surecut, options, certificate, tmp_path):
    sc.write_table(sc.simulate(queries=60, depth=30, seed=5), tmp_path / "longer")
    checked, reported = (
        surecut("check", certificate, "--table", "longer"),
        surecut(*options, "--held-out", "longer", "-o", "r.md"),
    )
    assert checked.status == reported.status == 2
    assert checked.err == reported.err


def test_other_queries_than_the_certificates_are_refused(surecut, systems, certificate, tmp_path):
    shown = surecut("report", certificate, *systems["held-out"].options, "-o", "report.html")
    assert shown.status == 2
    assert "are not the" in shown.err
    assert not (tmp_path / "report.html").exists()
