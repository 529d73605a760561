"""Options: the same words mean the same thing, and a word that means nothing is answered with the nearest one."""

import bz2
import json
import subprocess
import sys

import pytest

import surecut as sc


@pytest.fixture
def refused(surecut, systems, tmp_path):
    """`calibrate` with good data and bad options: the one line it says."""

    def run(*options, verb="calibrate"):
        ended = surecut(verb, *systems["calibration"].options, *options)
        assert ended.status == 2
        assert ended.out == ""
        assert ended.err.count("\n") == 1
        assert list(tmp_path.iterdir()) == []
        return ended.err

    return run


@pytest.mark.parametrize(
    ("options", "suggestion"),
    [
        (["--measure", "RRR@10"], "unknown measure 'RRR': did you mean 'RR'?"),
        (["--measure", "ndcg@10"], "did you mean 'nDCG'?"),
        (["--measure", "Sucess@5"], "did you mean 'Success'?"),
        (["--measure", "zzz"], "known are RR, nDCG, R, Success, P, AP"),
        (["--rule", "sofmax"], "unknown rule 'sofmax': did you mean 'softmax'?"),
        (["--rule", "z-score"], "did you mean 'zscore'?"),
        (["--test", "hegde"], "unknown test 'hegde': did you mean 'hedge'?"),
        (["--test", "Hoefding"], "did you mean 'hoeffding'?"),
        (["--tail", "apend"], "did you mean 'append'?"),
        (["--procedure", "wlak"], "did you mean 'walk'?"),
        (["--grid", "fix"], "did you mean 'fixed'?"),
        (["--if-unreachable", "relax-confidnce"], "did you mean 'relax-confidence'?"),
        (["--mesure", "RR@10"], "--measure"),
    ],
)
def test_an_unknown_word_is_answered_with_the_nearest(refused, options, suggestion):
    assert suggestion in refused(*options, "-o", "out.json")


def test_an_unknown_verb_is_answered_with_the_nearest(surecut):
    ended = surecut("calibrat")
    assert ended.status == 2
    assert "Did you mean 'calibrate'" in ended.err


def test_an_unknown_claim_of_assess_is_answered_with_the_nearest(refused):
    assert "did you mean 'max-drop'?" in refused("--keep", 5, "--claim", "maxdrop", verb="assess")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--max-drop", "1"], "--max-drop 1: write 1% for a share in percent, or a number below 1"),
        (["--max-drop", "2.5"], "write 2.5%"),
        (["--max-drop", "100%"], "between 0 and 1"),
        (["--max-drop", "0"], "between 0 and 1"),
        (["--max-drop", "-1%"], "between 0 and 1"),
        (["--max-drop", "little"], "--max-drop little: not a number"),
        (["--max-drop-abs", "1.5"], "between 0 and 1"),
        (["--at-least", "1.2"], "between 0 and 1"),
        (["--at-least", "nan"], "between 0 and 1"),
        (["--agreement", "0.95@ten"], "write it like 0.95@10"),
        (["--agreement", "0.95@0"], "at least 1"),
        (["--agreement", "1.5@10"], "between 0 and 1"),
        (["--confidence", "1"], "confidence must be a number between 0 and 1, like 0.9, not 1"),
        (["--confidence", "90"], "like 0.9, not 90"),
        (["--confidence", "0"], "like 0.9, not 0"),
        (["--confidence", "nan"], "like 0.9, not nan"),
        (["--confidence", "high"], "--confidence"),
        (["--at-least", "0.3", "--max-drop", "1%"], "--at-least and --max-drop: give one target"),
        (["--max-drop", "1%", "--agreement", "0.9@10"], "--max-drop and --agreement: give one target"),
        (["--max-drop-abs", "0.01", "--max-drop", "1%"], "give one target"),
        (["--measure", "P"], "needs a cutoff: write P@10"),
        (["--measure", "RR@0"], "cutoff must be a positive whole number"),
        (["--measure", "RR@ten"], "write it like RR@10"),
        (["--test", "binomial"], "losses that are 0 or 1 by definition"),
        (["--if-unreachable", "relax-target"], "nothing to relax"),
        (["--min-keep", "-1"], "min_keep must be a count"),
        (["--max-keep", "0"], "max_keep must be at least 1"),
        (["--min-keep", "5", "--max-keep", "4"], "at least min_keep"),
        (["--depth", "0"], "depth must be at least 1"),
        (["--depth", "many"], "--depth"),
        (["--fusion", "2"], "between 0 and 1, or 'fit'"),
        (["--fusion", "some"], "--fusion some: not a number"),
        (["--tune-fraction", "1"], "tuning share"),
        (["--missing-reranker", "guess"], "known are error, lowest"),
        (["--absent", "one"], "known are skip, zero"),
        (["--table", "scores"], "--retriever and --table are both given"),
        (["--tune-table", "nowhere"], "nowhere: no such folder"),
        (["--max-drop", ""], "not a number"),
        (["--agreement", "0.9@²"], "0.95@10"),
        (["--agreement", f"0.9@{10**20}"], "top k"),
        (["--max-keep", 10**20], "max_keep"),
        (["--min-keep", 10**20], "min_keep"),
    ],
)
def test_a_value_that_makes_no_sense_is_refused(refused, options, complaint):
    assert complaint in refused(*options, "-o", "out.json")


@pytest.mark.parametrize(
    ("verb", "options", "complaint"),
    [
        ("assess", [], "keep"),
        ("assess", ["--keep", 5, "--budget", 5], "not both"),
        ("assess", ["--keep", 0], "at least 1, not 0"),
        ("assess", ["--keep", 5, "--fusion", "fit"], "assess fits nothing"),
        ("assess", ["--keep", 5, "--confidence", 1], "like 0.9, not 1"),
        ("plan", ["--power", 2], "power must lie strictly between 0 and 1"),
        ("plan", ["--confidence", 2], "like 0.9, not 2"),
        ("plan", ["--mean", 0.4], "give --mean and --sd and --full-mean"),
        ("assess", ["--budget", "nan"], "budget"),
        ("plan", ["--at-least", 0.3, "--mean", "nan", "--sd", 0.4], "mean"),
        ("plan", ["--at-least", 0.3, "--mean", 0.4, "--sd", -1], "sd"),
        ("plan", ["--at-least", 0.3, "--mean", 2, "--sd", 0.4], "mean"),
    ],
)
def test_other_verbs_refuse_what_makes_no_sense(refused, verb, options, complaint):
    assert complaint in refused(*options, verb=verb)


def test_demo_refuses_a_negative_seed(surecut):
    assert surecut("demo", "--simulated", "--queries", 100, "--depth", 10, "--seed", -1).status == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (["--max-drop", "20%"], ["--max-drop", "0.2"]),
        (["--max-drop", " 20 % "], ["--max-drop", ".2"]),
        (["--agreement", "0.8"], ["--agreement", "80%@10"]),
        (["--measure", "MRR@10", "--max-drop", "20%"], ["--max-drop", "20%"]),
        ([], ["--max-drop", "1%"]),
        ([], ["--max-drop", "0.01"]),
    ],
)
def test_two_ways_to_say_the_same_give_the_same_bytes(surecut, systems, tmp_path, one, other):
    for name, options in (("one.json", one), ("other.json", other)):
        surecut("calibrate", *systems["calibration"].options, *options, "-o", name)
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "other.json").read_bytes()


def test_depth_is_recorded_and_holds_for_prune_and_check(surecut, systems):
    runs, held_out = systems["calibration"], systems["held-out"]
    assert surecut("calibrate", *runs.options, "--max-drop", "20%", "--depth", 10, "-o", "cert.json").status == 0
    assert sc.load_certificate("cert.json").depth == 10
    assert "at most 10" in surecut("check", "cert.json", *held_out.options).err
    assert surecut("check", "cert.json", *held_out.options, "--depth", 10).status == 0
    assert surecut("prune", "cert.json", "--retriever", held_out.retriever, "--depth", 10, "-o", "p.run").status == 0


def test_any_length_lets_other_lists_through(surecut, systems, certificate):
    short = ["prune", certificate, "--retriever", systems["held-out"].retriever, "--depth", 12, "-o", "p.run"]
    assert "a list of 12 candidates" in surecut(*short).err
    assert surecut(*short, "--any-length").status == 0


def test_groups_make_one_unit_of_near_duplicates(surecut, systems, tmp_path):
    runs = systems["calibration"]
    queries = sorted({line.split()[0] for line in runs.qrels.read_text().splitlines()})
    (tmp_path / "groups.tsv").write_text("\n".join(f"{query}\tg{i // 2}" for i, query in enumerate(queries)))
    ended = surecut("calibrate", *runs.options, "--max-drop", "30%", "--groups", "groups.tsv", "--json")
    facts = json.loads(ended.out)["certificate"]["calibration"]
    assert facts["queries"] == len(queries)
    assert facts["units"] == (len(queries) + 1) // 2


def test_what_is_planned_in_groups_is_counted_in_groups(surecut, systems, tmp_path):
    runs = systems["calibration"]
    queries = sorted({line.split()[0] for line in runs.qrels.read_text().splitlines()})
    (tmp_path / "groups.tsv").write_text("\n".join(f"{query}\tg{i // 4}" for i, query in enumerate(queries)))
    command = ["plan", *runs.options, "--max-drop", "30%", "--groups", "groups.tsv"]
    assert "groups needed  labelled queries in them" in surecut(*command).out
    rows = [row for row in json.loads(surecut(*command, "--json").out) if row["units"] is not None]
    assert rows
    in_each = len(queries) / ((len(queries) + 3) // 4)
    assert all(row["queries"] == pytest.approx(in_each * row["units"], abs=1) for row in rows)
    strict = surecut("calibrate", *runs.options, "--max-drop", "0.1%", "--groups", "groups.tsv")
    assert "groups of queries do not show" in " ".join(strict.err.split()) + " ".join(strict.out.split())


def test_groups_are_given_once(surecut, tmp_path):
    data = sc.simulate(queries=60, depth=5, seed=2)
    groups = {query: f"user-{place % 30}" for place, query in enumerate(data.query_ids)}
    sc.write_table(data.with_groups(groups), tmp_path / "table")
    (tmp_path / "groups.tsv").write_text("\n".join(f"{query}\t{group}" for query, group in groups.items()))
    ended = surecut("calibrate", "--table", "table", "--groups", "groups.tsv")
    assert ended.status == 2
    assert "table: has a column 'group', and --groups is given too" in ended.err


def test_a_tuning_table_must_hold_other_queries(surecut, tmp_path):
    left, right = sc.simulate(queries=300, depth=20, seed=2).split((0.5, 0.5))
    sc.write_table(left, tmp_path / "left")
    sc.write_table(right, tmp_path / "right")
    options = ["--rule", "softmax-fitted", "--max-drop", "20%", "--json"]
    tuned = surecut("calibrate", "--table", "left", "--tune-table", "right", *options)
    assert json.loads(tuned.out)["certificate"]["tune"]["queries"] == len(right)
    overlap = surecut("calibrate", "--table", "left", "--tune-table", "left", *options)
    assert overlap.status == 2
    assert "is in the tuning data and in the calibration data" in overlap.err


@pytest.mark.parametrize("command", ["calibrate", "verify certificate.json", "report certificate.json -o r.html"])
def test_a_group_does_not_tune_and_certify(surecut, tmp_path, command):
    left, right = sc.simulate(queries=300, depth=20, seed=2).split((0.5, 0.5))
    sc.write_table(left, tmp_path / "left")
    sc.write_table(right, tmp_path / "right")
    sc.calibrate(left, target=sc.max_drop(0.2)).save(tmp_path / "certificate.json")
    users = [f"{query}\tuser-{place % 40}" for data in (left, right) for place, query in enumerate(data.query_ids)]
    (tmp_path / "groups.tsv").write_text("\n".join(users))
    ended = surecut(*command.split(), "--table", "left", "--tune-table", "right", "--groups", "groups.tsv")
    assert ended.status == 2
    assert "group 'user-0' is in the tuning data and in the calibration data (40 are)" in ended.err


def test_a_tuning_table_with_groups_of_its_own_has_no_others(surecut, tmp_path):
    left, right = sc.simulate(queries=300, depth=20, seed=2).split((0.5, 0.5))
    sc.write_table(left, tmp_path / "left")
    sc.write_table(right.with_groups({query: f"session-{query}" for query in right.query_ids}), tmp_path / "right")
    users = [f"{query}\tuser-{place % 40}" for data in (left, right) for place, query in enumerate(data.query_ids)]
    (tmp_path / "groups.tsv").write_text("\n".join(users))
    ended = surecut("calibrate", "--table", "left", "--tune-table", "right", "--groups", "groups.tsv")
    assert ended.status == 2
    assert "right: has a column 'group', and --groups is given too: give one of them" in ended.err


def test_standard_input_is_read_once_only(surecut, systems):
    runs = systems["calibration"]
    ended = surecut("calibrate", "--retriever", "-", "--reranker", "-", "--qrels", runs.qrels)
    assert ended.status == 2
    assert ended.err == "surecut: standard input can be read once only: name a file for the others\n"


@pytest.mark.parametrize(
    "command", [("check", "-", "--retriever", "-"), ("diff", "-", "-"), ("prune", "-", "--retriever", "-")]
)
def test_a_certificate_and_data_cannot_both_be_piped(surecut, command):
    ended = surecut(*command)
    assert ended.status == 2
    assert "standard input can be read once only" in ended.err


def test_qrels_may_come_from_standard_input(surecut, systems, certificate):
    runs = systems["calibration"]
    named = surecut("check", certificate, *runs.options, "--json")
    piped = surecut("check", certificate, *runs.options[:5], "-", "--json", stdin=runs.qrels.read_bytes())
    assert piped.out == named.out


def test_bz2_may_come_from_standard_input(surecut, systems, certificate):
    content = systems["held-out"].retriever.read_bytes()
    plain = surecut("prune", certificate, "--retriever", "-", stdin=content)
    assert surecut("prune", certificate, "--retriever", "-", stdin=bz2.compress(content)).out == plain.out


def test_a_file_name_with_brackets_is_printed_as_it_is(surecut, systems):
    ended = surecut("calibrate", *systems["calibration"].options, "--max-drop", "20%", "-o", "cert[red].json")
    assert "written to cert[red].json" in ended.err


def status_without_a_reader(*command):
    arguments = [sys.executable, "-m", "surecut", *map(str, command)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as shown:
        shown.stdout.close()
        return shown.wait(timeout=60)


@pytest.mark.parametrize("form", [(), ("--json",), ("--latex",)], ids=str)
def test_a_reader_that_goes_away_is_no_contradiction(certificate, form):
    assert status_without_a_reader("show", certificate, *form) == 0


@pytest.mark.parametrize("form", [(), ("--json",)], ids=str)
def test_a_reader_that_goes_away_does_not_take_a_contradiction_along(systems, certificate, form):
    assert status_without_a_reader("check", certificate, *systems["worse"].options, *form) == 1


def test_a_reader_that_goes_away_from_a_run_or_from_help_is_no_fault(systems, certificate):
    assert status_without_a_reader("prune", certificate, "--retriever", systems["held-out"].retriever) == 0
    assert status_without_a_reader("trials", "--help") == 0
