"""surecut verify: made again from its data a certificate is the same, or the verb says what is not."""

import json

import pytest
from tests.tampering import changed, redigested

import surecut as sc
from surecut.io.writing import write_trec


@pytest.fixture
def options(systems):
    return systems["calibration"].options


@pytest.fixture
def record(certificate):
    return json.loads(certificate.read_text())


def test_the_same_certificate_is_verified(surecut, certificate, options, record):
    ended = surecut("verify", certificate, *options)
    assert ended.status == 0
    assert record["statement"] in ended.words
    assert record["calibration"]["fingerprint"] in ended.words
    assert record["digest"] in ended.words
    assert "verdict verified: made again from its data it is the same certificate" in ended.words
    assert "differs" not in ended.out


def test_a_changed_figure_is_shown_with_both_values(surecut, certificate, options, record, tmp_path):
    kept = record["calibration"]["mean_kept"]
    changes = {"mean_kept": kept - 1, "mean_full": record["calibration"]["mean_full"] * (1 + 1e-8)}
    for name, value in changes.items():
        record = changed(record, ("calibration", name), value)
    (tmp_path / "changed.json").write_text(redigested(record))
    assert surecut("show", "changed.json").status == 0, "its digest is right"
    ended = surecut("verify", "changed.json", *options)
    assert ended.status == 1
    assert f"calibration.mean_kept {kept - 1:.6g} {kept:.6g}" in ended.words
    assert f"calibration.mean_full {changes['mean_full']!r}" in ended.words, "as many digits as it takes"
    assert "verdict contradicted: made again from its data it does not say the same" in ended.words


def test_other_data_contradict(surecut, certificate, systems):
    ended = surecut("verify", certificate, *systems["held-out"].options)
    assert ended.status == 1
    assert "are not the" in ended.words
    assert "calibration.fingerprint" in ended.words


def test_json_for_programs(surecut, certificate, options, record, tmp_path):
    told = json.loads(surecut("verify", certificate, *options, "--json").out)
    assert told["same"] is told["identical"] is True
    assert told["differences"] == told["rounded"] == []
    assert told["digest"] == told["digest_again"] == record["digest"]
    assert told["made_by"] == told["verified_by"] == sc.__version__
    (tmp_path / "changed.json").write_text(redigested({**record, "threshold": None}))
    ended = surecut("verify", "changed.json", *options, "--json")
    assert ended.status == 1
    told = json.loads(ended.out)
    assert told["same"] is told["identical"] is False
    assert {"field": "threshold", "certified": None, "found": record["threshold"]} in told["differences"]


def test_the_certificate_or_a_run_may_be_piped(shell, certificate, systems, options):
    runs = systems["calibration"]
    assert shell("verify", "-", *options, stdin=certificate.read_bytes()).status == 0
    piped = ["--retriever", "-", "--reranker", runs.reranker, "--qrels", runs.qrels]
    assert shell("verify", certificate, *piped, stdin=runs.retriever.read_bytes()).status == 0
    twice = shell("verify", "-", *piped)
    assert twice.status == 2
    assert "standard input can be read once only" in twice.err


def test_tables_and_folders_of_run_files(surecut, certificate, systems, tmp_path):
    runs = systems["calibration"]
    data = sc.read_trec(runs.retriever, runs.reranker, runs.qrels)
    sc.write_table(data, tmp_path / "table")
    write_trec(data, tmp_path / "runs")
    for folder in ("table", "runs"):
        assert surecut("verify", certificate, "--table", folder).status == 0


@pytest.mark.parametrize(
    ("made", "given_again"),
    [
        ("calibrate --max-drop 20% --depth 10", ""),
        ("calibrate --max-drop 20% --depth 50", "--depth 50"),
        ("calibrate --max-drop 20% --fusion fit --tune-fraction 0.3", "--tune-fraction 0.3"),
        ("calibrate --max-drop 20% --fusion fit --tune-table other", "--tune-table other"),
        ("calibrate --max-drop 20% --groups groups.tsv", "--groups groups.tsv"),
        (
            "calibrate --max-drop 20% --groups groups.tsv --fusion fit --tune-table other",
            "--groups groups.tsv --tune-table other",
        ),
        ("calibrate --max-drop 1% --max-keep 2", "--max-keep 2"),
        ("calibrate --at-least 0.95 --if-unreachable relax-target", ""),
        ("calibrate --at-least 0.44 --if-unreachable relax-confidence", ""),
        ("calibrate --at-least 0.4 --procedure paper", ""),
        ("calibrate --max-drop 20% --procedure est", ""),
        ("calibrate --max-drop 20% --procedure ert", ""),
        ("assess --keep 5", ""),
        ("assess --keep 5", "--keep 5"),
        ("assess --budget 6", ""),
        ("assess --budget 6", "--budget 6"),
    ],
)
def test_what_was_given_is_given_again(surecut, systems, options, tmp_path, made, given_again):
    other = systems["held-out"]
    sc.write_table(sc.read_trec(other.retriever, other.reranker, other.qrels), tmp_path / "other")
    queries = [line.split()[0] for line in systems["calibration"].qrels.read_text().splitlines()]
    (tmp_path / "groups.tsv").write_text("\n".join(f"{query} g{len(query)}{query[-1]}" for query in set(queries)))
    assert surecut(*made.split(), *options, "-o", "cert.json").status in (0, 3, 4)
    ended = surecut("verify", "cert.json", *options, *given_again.split())
    assert ended.status == 0, ended.words + ended.err


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ([], "give the data as --retriever RUN"),
        (["--table", "absent"], "absent"),
        (["--keep", 5], "not made by assess"),
        (["--tune-fraction", 2], "the tuning share must be a number between 0 and 1"),
    ],
)
def test_bad_input_is_one_line_and_no_verdict(surecut, certificate, options, given, complaint):
    data = [] if complaint.startswith("give the data") or "--table" in given else options
    ended = surecut("verify", certificate, *data, *given)
    assert ended.status == 2
    assert ended.out == ""
    assert complaint in ended.err
    assert ended.err.count("\n") == 1


def test_another_system_is_left_out_where_told(surecut, systems, options, tmp_path):
    runs = systems["calibration"]
    data = sc.read_trec(runs.retriever, runs.reranker, runs.qrels)
    named = sc.calibrate(data, target=sc.max_drop(0.2)).to_dict() | {"system": {"reranker": "v1"}}
    (tmp_path / "cert.json").write_text(redigested(named))
    ended = surecut("verify", "cert.json", *options)
    assert ended.status == 1
    assert "system.reranker v1 (not there)" in ended.words
    left_out = surecut("verify", "cert.json", *options, "--any-system")
    assert left_out.status == 0
    assert "was not compared" in left_out.words
