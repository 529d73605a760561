"""Every verb on small files: what it prints, what it writes, how it ends."""

import gzip
import json
import sys

import numpy as np
import pytest

import surecut as sc
from surecut.io.table import write_table
from surecut.io.trec import read_run
from surecut.io.writing import write_trec

VERBS = (
    *("demo", "calibrate", "assess", "prune", "check", "show", "diff", "plan", "report", "trials"),
    *("score", "rank", "speedup", "verify", "sign"),
)


@pytest.fixture
def calibrated(systems, surecut):
    """Calibrate on files with some options; the result and the path of the certificate."""

    def run(*options, name="cert.json"):
        return surecut("calibrate", *systems["calibration"].options, "-o", name, *options), name

    return run


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_every_verb_shows_an_example(surecut, verb):
    shown = surecut(verb, "--help")
    assert shown.status == 0
    assert f"Example: surecut {verb}" in shown.words


def test_the_help_lists_every_verb_and_where_to_start(surecut):
    shown = surecut("--help")
    assert shown.status == 0
    assert all(f" {verb} " in shown.words for verb in VERBS)
    assert "surecut demo" in shown.words
    assert surecut().out == shown.out
    assert surecut("--version").out == f"surecut {sc.__version__}\n"


def test_demo_says_it_is_simulated_writes_the_report_and_ends_with_the_next_command(shell, tmp_path):
    shown = shell("demo", "--simulated", "--queries", 4000, "--depth", 30)
    assert shown.status == 0
    assert "simulated" in shown.out.splitlines()[0]
    assert "open surecut-demo.html in a browser" in shown.words
    page = (tmp_path / "surecut-demo.html").read_text()
    assert "Not contradicted." in page
    assert "surecut demo --simulated --queries 4000 --depth 30" in page
    assert "ir-measures agree" in shown.words
    assert shown.out.splitlines()[-1].strip().startswith("surecut calibrate --retriever")


def test_without_the_extra_the_demo_says_how_to_get_its_report(surecut, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "altair", None)
    shown = surecut("demo", "--simulated", "--queries", 4000, "--depth", 30)
    assert shown.status == 0
    assert "pip install 'surecut[report]'" in shown.words
    assert list(tmp_path.iterdir()) == []


def test_a_table_that_no_recipe_made_is_applied_without_one(surecut, systems, tmp_path):
    runs = systems["calibration"]
    write_table(sc.read_trec(runs.retriever, runs.reranker, runs.qrels), tmp_path / "table")
    made = surecut("calibrate", "--table", "table", "--max-drop", "20%", "-o", "cert.json")
    assert "apply it with: surecut prune cert.json --retriever RUN" in made.err


def test_a_folder_of_run_files_is_pruned_like_its_run(surecut, systems, tmp_path):
    runs = systems["calibration"]
    write_trec(sc.read_trec(runs.retriever, runs.reranker, runs.qrels), tmp_path / "runs")
    made = surecut("calibrate", "--table", "runs", "--max-drop", "20%", "-o", "cert.json")
    assert "apply it with: surecut prune cert.json --retriever RUN" in made.err
    assert surecut("prune", "cert.json", "--table", "runs", "-o", "folder.run").status == 0
    assert surecut("prune", "cert.json", "--retriever", "runs/retriever.run", "-o", "file.run").status == 0
    assert (tmp_path / "folder.run").read_text() == (tmp_path / "file.run").read_text()


def test_a_drop_without_a_lower_bound_is_shown_without_one(surecut, tmp_path):
    """The reranker puts the retriever's first, which is right, tenth: pruned, the list is ten times as good."""
    reranker = np.where(np.arange(20) == 0, 10.5, np.arange(20.0))
    data = sc.Candidates.from_arrays(
        np.tile(np.arange(20.0, 0.0, -1.0), (300, 1)),
        np.tile(reranker, (300, 1)),
        np.tile(np.arange(20) == 0, (300, 1)),
    )
    sc.write_table(data, tmp_path / "table")
    sc.calibrate(data, target=sc.max_drop(0.5)).save(tmp_path / "cert.json")
    assert "90% interval up to -" in surecut("check", "cert.json", "--table", "table").words


def test_calibrate_show_prune_check_as_processes_of_their_own(shell, systems, tmp_path):
    assert shell("calibrate", *systems["calibration"].options, "--max-drop", "20%", "-o", "cert.json").status == 0
    assert "With 90% confidence" in shell("show", "cert.json").words
    held_out = systems["held-out"]
    assert shell("prune", "cert.json", "--retriever", held_out.retriever, "-o", "pruned.run").status == 0
    assert 0 < read_run(tmp_path / "pruned.run").height < read_run(held_out.retriever).height
    checked = shell("check", "cert.json", *held_out.options)
    assert checked.status == 0
    assert "not contradicted" in checked.words
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cert.json", "pruned.run"]


def test_standard_input_is_a_run_or_a_certificate(shell, systems, certificate):
    retriever = systems["held-out"].retriever
    named = shell("prune", certificate, "--retriever", retriever)
    assert named.status == 0
    assert shell("prune", certificate, "--retriever", "-", stdin=retriever.read_bytes()).out == named.out
    zipped = gzip.compress(retriever.read_bytes())
    assert shell("prune", certificate, "--retriever", "-", stdin=zipped).out == named.out
    assert shell("prune", "-", "--retriever", retriever, stdin=certificate.read_bytes()).out == named.out


@pytest.mark.parametrize(
    ("options", "status", "ending"),
    [
        (["--max-drop", "20%"], 0, "certified"),
        (["--agreement", "0.8@5"], 0, "certified"),
        (["--at-least", "0.1"], 0, "certified"),
        (["--max-drop-abs", "0.1", "--measure", "nDCG@10"], 0, "certified"),
        (["--at-least", "0.95", "--if-unreachable", "relax-target"], 3, "relaxed-target"),
        (["--at-least", "0.44", "--if-unreachable", "relax-confidence"], 3, "relaxed-confidence"),
        (["--max-drop", "20%", "--test", "clt"], 3, "uncertified"),
        (["--max-drop", "20%", "--procedure", "est"], 3, "uncertified"),
        (["--max-drop", "20%", "--procedure", "paper"], 3, "uncertified"),
        (["--max-drop", "0.1%"], 4, "abstained"),
        (["--at-least", "0.95"], 4, "abstained"),
    ],
)
def test_calibrate_ends_with_the_status_of_the_certificate(calibrated, options, status, ending):
    ended, name = calibrated(*options)
    written = sc.load_certificate(name)
    assert (ended.status, written.status) == (status, ending)
    assert " ".join(written.statement.split()) in ended.words


def test_abstaining_writes_a_certificate_that_keeps_everything(calibrated, surecut, systems):
    ended, name = calibrated("--max-drop", "0.1%")
    assert "Nothing is certified and nothing is pruned" in ended.words
    assert "would probably do" in ended.words or "no number of queries would show it" in ended.words
    assert "The tightest this many would probably certify: mean RR@10 is at most" in ended.words
    written = sc.load_certificate(name)
    assert written.threshold == float("-inf")
    assert written.keep(np.arange(20.0)[::-1]) == 20
    assert surecut("check", name, *systems["worse"].options).status == 0


def test_abstaining_says_how_many_queries_are_needed(calibrated):
    ended, name = calibrated("--at-least", "0.44")
    advice = sc.load_certificate(name).advice
    assert ended.status == 4
    rounded = int(float(f"{advice['queries']:.2g}"))
    assert f"about {rounded:,} would probably do" in ended.words
    assert advice["queries"] > 200


def test_the_same_data_gives_the_same_bytes(calibrated, tmp_path):
    for name in ("one.json", "two.json"):
        calibrated("--max-drop", "20%", name=name)
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()


def test_the_summary_names_the_four_counts(surecut, systems, tmp_path):
    runs = systems["calibration"]
    lines = runs.qrels.read_text().splitlines()
    dropped, emptied = lines[0].split()[0], lines[-1].split()[0]
    changed = [line if line.split()[0] != emptied else line[:-1] + "-1" for line in lines if line.split()[0] != dropped]
    (tmp_path / "qrels").write_text("\n".join((*changed, "elsewhere 0 d1 1")))
    options = [*runs.options[:4], "--qrels", "qrels", "--max-drop", "20%"]
    words = surecut("calibrate", *options).err
    assert "1 not judged, 1 judged but not in the run" in words
    assert "1 with no relevant document, 1 negative grades" in words
    counts = json.loads(surecut("calibrate", *options, "--json").out)["data"]
    assert (counts["unjudged_queries"], counts["absent_queries"]) == (1, 1)
    assert (counts["queries_without_relevant"], counts["negative_grades"]) == (1, 1)
    zero = json.loads(surecut("calibrate", *options, "--absent", "zero", "--json").out)
    assert zero["certificate"]["calibration"]["queries"] == counts["queries"] - 1 + 1
    words_zero = surecut("calibrate", *options, "--absent", "zero").err
    assert "0 judged but not in the run; kept as 0: 1 with no relevant document, 1 not in the run" in words_zero
    assert "of the final top 10 is judged" in words


def survivors(certificate, retriever):
    """(query, document) pairs that the certificate's own `survivors` keeps."""
    loaded, run = sc.load_certificate(certificate), read_run(retriever)
    kept = []
    for (query,), part in run.group_by("query_id", maintain_order=True):
        ids = part["doc_id"].to_list()
        kept += [(query, ids[i]) for i in loaded.survivors(part["score"].to_numpy(), ids)]
    return kept


@pytest.mark.parametrize("name", ["pruned.run", "pruned.run.gz"])
def test_prune_writes_exactly_the_survivors(surecut, systems, certificate, tmp_path, name):
    retriever = systems["held-out"].retriever
    assert surecut("prune", certificate, "--retriever", retriever, "-o", name).status == 0
    pruned = read_run(tmp_path / name)
    assert list(zip(pruned["query_id"], pruned["doc_id"], strict=True)) == survivors(certificate, retriever)
    whole = read_run(retriever)
    assert pruned.join(whole, on=["query_id", "doc_id", "score"], how="semi").height == pruned.height
    assert ((tmp_path / name).read_bytes()[:2] == b"\x1f\x8b") == name.endswith(".gz")


def test_prune_summary_counts(surecut, systems, certificate):
    retriever = systems["held-out"].retriever
    shown = json.loads(surecut("prune", certificate, "--retriever", retriever, "-o", "p.run", "--json").out)
    assert shown["kept"] == len(survivors(certificate, retriever))
    assert shown["mean_kept"] == shown["kept"] / shown["queries"]
    assert shown["candidates"] == 20 * shown["queries"]


def test_prune_summary_counts_queries_that_keep_nothing(calibrated, surecut, systems):
    _, name = calibrated("--max-drop", "95%", "--min-keep", 0)
    retriever = systems["calibration"].retriever
    shown = json.loads(surecut("prune", name, "--retriever", retriever, "-o", "p.run", "--json").out)
    assert shown["mean_kept"] == pytest.approx(sc.load_certificate(name).mean_kept)


@pytest.mark.parametrize("options", [["--max-drop", "20%"], ["--max-drop", "20%", "--procedure", "est"]])
def test_check_contradicts_a_claim_that_is_false(calibrated, surecut, systems, options):
    _, name = calibrated(*options)
    ended = surecut("check", name, *systems["worse"].options)
    assert ended.status == 1
    assert "contradicted" in ended.words
    found = json.loads(surecut("check", name, *systems["worse"].options, "--json").out)
    assert found["contradicted"] is True
    assert found["interval"][0] > found["claimed"] == 0.2


def test_check_notices_the_calibration_queries_themselves(surecut, systems, certificate):
    ended = surecut("check", certificate, *systems["calibration"].options)
    assert ended.status == 0
    assert "no independent check" in ended.err


def test_two_evaluators_that_disagree_end_with_70(surecut, systems, certificate, monkeypatch):
    import surecut.checking as checking

    honest = checking.judged_values
    monkeypatch.setattr(checking, "judged_values", lambda *lists: honest(*lists) + 1e-6)
    ended = surecut("check", certificate, *systems["held-out"].options)
    assert ended.status == 70
    assert "surecut says" in ended.err
    assert ended.err.count("\n") == 1


def test_tables_of_another_system_are_refused_unless_told_otherwise(surecut, tmp_path):
    data = sc.simulate(queries=120, depth=20, seed=3)
    for name, version in (("mine", "v1"), ("other", "v2")):
        sc.write_table(data, tmp_path / name, {"fingerprints": {"retriever": "bm25", "reranker": version}})
    assert surecut("calibrate", "--table", "mine", "--max-drop", "20%", "-o", "cert.json").status == 0
    assert sc.load_certificate("cert.json").system == {"retriever": "bm25", "reranker": "v1"}
    for verb, *more in (("check", "--json"), ("prune", "-o", "p.run")):
        refused = surecut(verb, "cert.json", "--table", "other", *more)
        assert refused.status == 2
        assert "the reranker of this data is not the certificate's" in refused.err
        assert surecut(verb, "cert.json", "--table", "mine", *more).status == 0
        assert surecut(verb, "cert.json", "--table", "other", "--any-system", *more).status == 0


def test_show_in_words_as_json_and_as_a_latex_row(surecut, certificate):
    loaded = sc.load_certificate(certificate)
    shown = surecut("show", certificate, "--ms-per-pair", "10")
    assert " ".join(loaded.statement.split()) in shown.words
    assert "200 ms a query becomes" in shown.words
    assert json.loads(surecut("show", certificate, "--json").out)["digest"] == loaded.digest
    row = surecut("show", certificate, "--latex").out.strip()
    assert row.endswith(r"\\")
    assert row.count("&") == 7


def test_diff_names_what_changed(calibrated, surecut, certificate):
    _, other = calibrated("--max-drop", "30%", "--confidence", "0.95")
    changed = json.loads(surecut("diff", certificate, other, "--json").out)
    assert changed["target.value"] == {"old": 0.2, "new": 0.3}
    assert changed["confidence"] == {"old": 0.9, "new": 0.95}
    assert "rule.name" not in changed
    assert "target.value 0.2 0.3 +50.0%" in surecut("diff", certificate, other).words
    assert surecut("diff", certificate, certificate).words == "no difference"


def test_diff_as_a_gate_ends_with_1_at_a_setback(calibrated, surecut, certificate):
    _, weaker = calibrated("--max-drop", "30%")
    gate = ("--max-kept-rise", "10%")
    stopped = surecut("diff", certificate, weaker, *gate)
    assert stopped.status == 1
    assert "setback: it claims less: max_drop 0.3 instead of 0.2" in stopped.words
    assert surecut("diff", certificate, weaker).status == 0
    assert json.loads(surecut("diff", certificate, weaker, *gate, "--json").out)["setbacks"]
    passed = surecut("diff", certificate, certificate, *gate)
    assert passed.status == 0
    assert "no setback" in passed.words
    assert surecut("diff", certificate, weaker, "--max-kept-rise", "10").status == 2
    assert surecut("diff", certificate, weaker, "--max-kept-rise", "nan").status == 2


def test_plan_from_pilot_data_and_from_moments(surecut, systems):
    rows = json.loads(surecut("plan", *systems["calibration"].options, "--max-drop", "20%", "--json").out)
    assert all(set(row) == {"mean_kept", "measured", "units", "queries"} for row in rows)
    assert any(row["queries"] for row in rows)
    assert all(row["queries"] == row["units"] for row in rows)
    moments = surecut("plan", "--at-least", "0.38", "--mean", "0.41", "--sd", "0.44")
    assert moments.status == 0
    needed = json.loads(surecut("plan", "--at-least", "0.38", "--mean", "0.41", "--sd", "0.44", "--json").out)
    assert f"about {needed['queries']:,} labelled queries" in moments.words
    assert "no number of queries" in surecut("plan", "--at-least", "0.5", "--mean", "0.4", "--sd", "0.4").words


@pytest.mark.parametrize("cut", [["--keep", 5], ["--budget", 8]])
def test_assess_states_a_claim_for_a_cut(surecut, systems, cut):
    ended = surecut("assess", *cut, *systems["calibration"].options, "-o", "claim.json", "--json")
    assert ended.status == 0
    claimed = sc.load_certificate("claim.json")
    assert json.loads(ended.out)["statement"] == claimed.statement
    assert claimed.certified
    assert claimed.mean_kept == (5 if cut[0] == "--keep" else pytest.approx(8, rel=0.3))
    assert surecut("check", "claim.json", *systems["held-out"].options).status == 0


def test_pruned_scores_and_ids_come_back_exactly(surecut, certificate, tmp_path):
    lines = [f"007 Q0 é{i:02d} 0 {score!r} 'tag\"" for i, score in enumerate(np.geomspace(1e-7, 3e7, 20).tolist())]
    (tmp_path / "odd.run").write_text("\n".join(lines), encoding="utf-8")
    surecut("prune", certificate, "--retriever", "odd.run", "-o", "odd.pruned", "--any-system")
    pruned, whole = read_run(tmp_path / "odd.pruned"), read_run(tmp_path / "odd.run").sort("score", descending=True)
    assert pruned.equals(whole.head(pruned.height))
