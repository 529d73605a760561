"""Bad input: exit status 2, one clear line on stderr, and nothing left behind."""

import bz2
import json
import os
import shutil
import signal
from pathlib import Path

import pytest

CALIBRATE = "calibrate --retriever ret.run --reranker rer.run --qrels qrels --max-drop 20% -o out.json"
PRUNE = "prune cert.json --retriever ret.run -o out.run"
CHECK = "check cert.json --retriever ret.run --reranker rer.run --qrels qrels"


@pytest.fixture
def files(systems, certificate, tmp_path, monkeypatch):
    """ret.run, rer.run, qrels and cert.json in the folder the command runs in."""
    runs = systems["calibration"]
    for source, name in (
        (runs.retriever, "ret.run"),
        (runs.reranker, "rer.run"),
        (runs.qrels, "qrels"),
        (certificate, "cert.json"),
    ):
        shutil.copy(source, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lines(name):
    return Path(name).read_text(encoding="utf-8").splitlines()


def write(name, content):
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())


def line_three(name, change):
    """Change the third line of a file."""
    text = lines(name)
    text[2] = change(text[2].split())
    write(name, "\n".join(text))


def score(text, name="ret.run"):
    return lambda: line_three(name, lambda fields: " ".join((*fields[:4], text, fields[5])))


def repeat_line(name, change=lambda line: line):
    return lambda: write(name, "\n".join((*lines(name), change(lines(name)[0]))))


def keep_lines(name, wanted):
    return lambda: write(name, "\n".join(line for line in lines(name) if wanted(line)))


def certificate_with(**changes):
    return lambda: write("cert.json", json.dumps(json.loads(Path("cert.json").read_text()) | changes))


def first_queries(count):
    return {f"dense-electra-{i}" for i in range(count)}


CASES = {
    "missing run": (lambda: Path("ret.run").unlink(), CALIBRATE, ["ret.run: No such file"]),
    "missing reranker run": (lambda: Path("rer.run").unlink(), CALIBRATE, ["rer.run: No such file"]),
    "missing qrels": (lambda: Path("qrels").unlink(), CALIBRATE, ["qrels: No such file"]),
    "missing certificate": (lambda: Path("cert.json").unlink(), PRUNE, ["cert.json: No such file"]),
    "missing table": (None, "calibrate --table nowhere", ["nowhere: no such folder"]),
    "folder as run": (None, CALIBRATE.replace("ret.run", "."), ["Is a directory"]),
    "folder as certificate": (None, "show .", ["Is a directory"]),
    "five columns": (lambda: line_three("ret.run", lambda f: " ".join(f[:5])), CALIBRATE, ["ret.run, line 3: 5 col"]),
    "seven columns": (
        lambda: line_three("ret.run", lambda f: " ".join((*f, "more"))),
        CALIBRATE,
        ["ret.run, line 3: 7 col"],
    ),
    "three columns": (
        lambda: write("ret.run", "\n".join("\t".join(line.split()[i] for i in (0, 2, 3)) for line in lines("ret.run"))),
        CALIBRATE,
        ["ret.run, line 1: three columns", "no scores", "TREC format"],
    ),
    "qrels columns": (lambda: line_three("qrels", lambda f: " ".join(f[:3])), CALIBRATE, ["qrels, line 3: 3 columns"]),
    "qrels grade": (lambda: line_three("qrels", lambda f: " ".join((*f[:3], "good"))), CALIBRATE, ["line 3", "'good'"]),
    "score is text": (score("high"), CALIBRATE, ["ret.run, line 3: the score is not a finite number: 'high'"]),
    "score is nan": (score("nan"), CALIBRATE, ["ret.run, line 3: the score is not a finite number: 'nan'"]),
    "score is inf": (score("inf", "rer.run"), CALIBRATE, ["rer.run, line 3: the score is not a finite number: 'inf'"]),
    "score in prune": (score("-inf"), PRUNE, ["ret.run, line 3: the score is not a finite number: '-inf'"]),
    "score beyond 32 bits": (score("1e39"), CALIBRATE, ["query 'dense-electra-", "document 'd002'", "not a finite"]),
    "document twice": (repeat_line("ret.run"), CALIBRATE, ["query 'dense-electra-", "document 'd000' twice"]),
    "document twice in prune": (repeat_line("ret.run"), PRUNE, ["document 'd000' twice"]),
    "reranked twice": (repeat_line("rer.run"), CALIBRATE, ["reranker", "document 'd000' twice"]),
    "two grades": (repeat_line("qrels", lambda line: line[:-1] + "0"), CALIBRATE, ["two different grades"]),
    "reranker misses documents": (
        keep_lines("rer.run", lambda line: " d015 " not in line),
        CALIBRATE,
        ["no score for query 'dense-electra-", "document 'd015'", "--depth 15", "--missing-reranker lowest"],
    ),
    "qrels for other queries": (
        lambda: write("qrels", "\n".join(f"x{line}" for line in lines("qrels"))),
        CALIBRATE,
        ["for none of the run's queries"],
    ),
    "nothing relevant": (
        lambda: write("qrels", "\n".join(line[:-1] + "0" for line in lines("qrels"))),
        CALIBRATE,
        ["no relevant document anywhere"],
    ),
    "empty run": (lambda: write("ret.run", ""), CALIBRATE, ["ret.run: no lines"]),
    "empty reranker run": (lambda: write("rer.run", "\n"), CALIBRATE, ["rer.run: no lines"]),
    "empty qrels": (lambda: write("qrels", ""), CALIBRATE, ["qrels: no lines"]),
    "empty run in prune": (lambda: write("ret.run", ""), PRUNE, ["ret.run: no lines"]),
    "empty standard input": (None, PRUNE.replace("ret.run", "-"), ["-: no lines"]),
    "29 queries": (
        lambda: write(
            "qrels", "\n".join(f"{q} 0 d000 1" for q in dict.fromkeys(r.split()[0] for r in lines("qrels")[:29]))
        ),
        CALIBRATE,
        ["usable queries are too few", "at least 30"],
    ),
    "few queries in check": (
        keep_lines("qrels", lambda line: line.split()[0] in first_queries(20)),
        CHECK,
        ["too few"],
    ),
    "no judgements": (None, CALIBRATE.replace("--qrels qrels", ""), ["no query is judged", "agreement"]),
    "no reranker": (None, CALIBRATE.replace("--reranker rer.run", ""), ["no reranker scores"]),
    "newer schema": (certificate_with(schema=99), "show cert.json", ["cert.json: certificate schema 99 is newer"]),
    "edited certificate": (certificate_with(confidence=0.99), PRUNE, ["cert.json: the digest does not match"]),
    "truncated certificate": (
        lambda: write("cert.json", Path("cert.json").read_bytes()[:400]),
        PRUNE,
        ["cert.json: not a whole JSON document"],
    ),
    "certificate of text": (lambda: write("cert.json", "hello"), CHECK, ["cert.json: not a whole JSON document"]),
    "other JSON": (lambda: write("cert.json", "[1, 2]"), "show cert.json", ["cert.json: not a surecut certificate"]),
    "binary certificate": (lambda: write("cert.json", b"\xff\x00" * 99), "show cert.json", ["cert.json: not a text"]),
    "run as certificate": (None, "show ret.run", ["ret.run: not a whole JSON document"]),
    "lists too long": (
        lambda: write("ret.run", "\n".join((*lines("ret.run"), lines("ret.run")[0].replace("d000", "d999")))),
        PRUNE,
        ["a list of 21 candidates", "at most 20"],
    ),
    "lists too short": (
        keep_lines("ret.run", lambda line: " d019 " not in line),
        PRUNE,
        ["a list of 19 candidates", "the shortest one in calibration had 20"],
    ),
    "output folder missing": (None, CALIBRATE.replace("out.json", "no/out.json"), ["no/out.json: cannot be written"]),
    "pruned folder missing": (None, PRUNE.replace("out.run", "no/out.run"), ["no/out.run: cannot be written"]),
    "output is a folder": (None, CALIBRATE.replace("out.json", ".."), ["..: cannot be written"]),
    "output below a file": (None, CALIBRATE.replace("out.json", "qrels/o"), ["qrels/o: cannot be written"]),
    "output has no name": (None, CALIBRATE.replace("out.json", "."), [".: cannot be written"]),
    "output name too long": (None, CALIBRATE.replace("out.json", 300 * "x"), ["cannot be written"]),
    "garbage": (
        lambda: write("ret.run", bytes(range(256)) * 9),
        CALIBRATE,
        ["ret.run: not a text file in UTF-8"],
    ),
    "garbage in prune": (lambda: write("ret.run", b"\x93\x00\xfe" * 99), PRUNE, ["ret.run: not a text"]),
    "invalid UTF-8": (
        lambda: write("ret.run", Path("ret.run").read_bytes().replace(b"d001", b"d\xff1", 1)),
        CALIBRATE,
        ["ret.run: not a text file in UTF-8"],
    ),
    "invalid UTF-8 in qrels": (
        lambda: write("qrels", Path("qrels").read_bytes().replace(b"d0", b"\xff0", 1)),
        CALIBRATE,
        ["qrels: not a text file in UTF-8"],
    ),
    "truncated bz2": (
        lambda: write("ret.run", bz2.compress(Path("ret.run").read_bytes())[:-30]),
        CALIBRATE,
        ["ret.run"],
    ),
    "groups columns": (
        lambda: write("g.tsv", "q\n"),
        CALIBRATE + " --groups g.tsv",
        ["g.tsv, line 1: 1 columns where 2"],
    ),
}


@pytest.mark.parametrize(("spoil", "command", "said"), [pytest.param(*case, id=name) for name, case in CASES.items()])
def test_bad_input_is_one_line_and_leaves_nothing(surecut, files, spoil, command, said):
    if spoil is not None:
        spoil()
    before = {path.name: path.read_bytes() for path in files.iterdir() if path.is_file()}
    ended = surecut(*command.split())
    assert ended.status == 2
    assert ended.out == ""
    assert ended.err.count("\n") == 1
    assert ended.err.startswith("surecut: ")
    assert all(each in ended.err for each in said), ended.err
    assert {path.name: path.read_bytes() for path in files.iterdir() if path.is_file()} == before


@pytest.mark.parametrize(
    "command", [CALIBRATE.replace(" qrels", " nowhere"), "show ret.run", "calibrat", "demo --simulated --queries 0"]
)
def test_a_process_of_its_own_ends_the_same_way(shell, files, command):
    ended = shell(*command.split())
    assert ended.status == 2
    assert ended.err.count("\n") == 1
    assert "Traceback" not in ended.err


def test_a_certificate_on_standard_input_that_is_no_text_is_one_line(surecut):
    ended = surecut("show", "-", stdin=b"\xff\xfe{")
    assert (ended.status, ended.err) == (2, "surecut: standard input: not a text file in UTF-8\n")


def test_the_depth_suggested_for_missing_scores_works(surecut, files):
    keep_lines("rer.run", lambda line: " d015 " not in line)()
    assert surecut(*CALIBRATE.split(), "--depth", 15).status == 0
    lowest = surecut(*CALIBRATE.split(), "--missing-reranker", "lowest", "--json")
    assert json.loads(lowest.out)["data"]["filled_reranked"] > 100


def test_a_failed_command_leaves_an_earlier_result_alone(surecut, files):
    write("out.json", "earlier")
    score("nan")()
    assert surecut(*CALIBRATE.split()).status == 2
    assert Path("out.json").read_text() == "earlier"


def test_ctrl_c_while_computing_ends_with_130_and_no_traceback(started):
    process = started("demo --simulated --queries 20000 --depth 500")
    assert b"simulated" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 130
    assert process.stderr.read().decode().strip() in ("", "surecut: interrupted")


@pytest.mark.parametrize("piped", ["ret.run", "rer.run"])
def test_ctrl_c_while_reading_ends_with_130_and_no_file(started, files, piped):
    write("out.json", "earlier")
    process = started(CALIBRATE.replace(piped, "-"))
    process.stdin.write(b"q Q0 d 1 1.0 t\n" * 20_000)  # more than a pipe holds: returns once it is being read
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 130
    assert process.stderr.read().decode().strip() in ("", "surecut: interrupted")
    assert sorted(path.name for path in files.iterdir()) == ["cert.json", "out.json", "qrels", "rer.run", "ret.run"]
    assert Path("out.json").read_text() == "earlier"


@pytest.mark.parametrize("command", [CALIBRATE, PRUNE])
def test_ctrl_c_while_writing_leaves_no_half_written_file(surecut, files, monkeypatch, command):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    before = sorted(path.name for path in files.iterdir())
    assert surecut(*command.split()).status == 130
    assert sorted(path.name for path in files.iterdir()) == before
