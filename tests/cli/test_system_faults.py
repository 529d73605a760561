"""score, rank and speedup on bad input, a full disk and Ctrl-C: one line each, and nothing computed is lost."""

import json
import resource
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
from tests.system.making import After, contents, cross_encoder, stop, write_lines

import surecut as sc
from surecut.system.recipe import read_recipe
from surecut.system.scoring import score

SCORE = "score tiny.toml -o out"
RANK = "rank cert.json tiny.toml --query balak"
SPEEDUP = "speedup cert.json tiny.toml --queries 2"


def recipe_with(old, new):
    def change():
        text = Path("tiny.toml").read_text()
        assert old in text
        Path("tiny.toml").write_text(text.replace(old, new))

    return change


def write(name, content):
    return lambda: Path(name).write_bytes(content)


def append(name, line):
    return lambda: Path(name).write_text(Path(name).read_text() + line)


def remove(name):
    return lambda: Path(name).unlink()


def first_query(text):
    def change():
        asked = [json.loads(line) for line in Path("data/queries.jsonl").read_text().splitlines()]
        write_lines(Path("data/queries.jsonl"), [{**asked[0], "text": text}, *asked[1:]])

    return change


def every_query(text):
    def change():
        asked = [json.loads(line) for line in Path("data/queries.jsonl").read_text().splitlines()]
        write_lines(Path("data/queries.jsonl"), [{**each, "text": text} for each in asked])

    return change


def spoilt_zip():
    with zipfile.ZipFile("data.zip", "w") as archive:
        archive.write("data/corpus.jsonl", "corpus.jsonl")
        archive.write("data/queries.jsonl", "queries.jsonl")
        archive.write("data/qrels/test.tsv", "qrels/test.tsv")
    content = bytearray(Path("data.zip").read_bytes())
    content[500] ^= 1
    Path("data.zip").write_bytes(content)
    recipe_with('"data"', '"data.zip"')()


DENSE = 'kind = "dense"\nmodel = "./bi"\npooling = "mean"'

CASES = {
    "no recipe": (remove("tiny.toml"), SCORE, ["tiny.toml: No such file"]),
    "not TOML": (write("tiny.toml", b"depth ="), SCORE, ["tiny.toml: not TOML"]),
    "unknown key": (recipe_with("depth = 50", "depht = 50"), SCORE, ["unknown key 'depht'", "did you mean 'depth'"]),
    "unknown kind": (recipe_with('"bm25"', '"bm52"'), SCORE, ["[retriever]", "unknown kind 'bm52'"]),
    "wrong type": (recipe_with('"bm25"', '"bm25"\nk1 = "x"'), SCORE, ["[retriever]: k1 = 'x': a number is expected"]),
    "no section": (recipe_with("[reranker]", "[fussion]"), SCORE, ["unknown key 'fussion'"]),
    "unset variable": (recipe_with('"data"', '"${NOT_SET}/data"'), SCORE, ["${NOT_SET} is not set"]),
    "no splits": (recipe_with('"data"', '"data"\nsplit = []'), SCORE, ["split"]),
    "missing collection": (recipe_with('"data"', '"nowhere"'), SCORE, ["nowhere"]),
    "missing collection in rank": (recipe_with('"data"', '"nowhere"'), RANK, ["nowhere"]),
    "missing split": (remove("data/qrels/test.tsv"), SCORE, ["data: no qrels/test.tsv in it"]),
    "missing model": (recipe_with("./cross", "./nowhere"), SCORE, ["[reranker]", "nowhere: no such model folder"]),
    "missing dense model": (
        recipe_with('kind = "bm25"', DENSE.replace("./bi", "./nowhere")),
        SCORE,
        ["nowhere: no such model folder"],
    ),
    "no tokenizer": (remove("cross/tokenizer.json"), SCORE, ["cross: no tokenizer.json"]),
    "no tokenizer of a dense model": (
        lambda: (recipe_with('kind = "bm25"', DENSE)(), Path("bi/tokenizer.json").unlink()),
        SCORE,
        ["bi: no tokenizer.json"],
    ),
    "no weights": (remove("cross/model.onnx"), SCORE, ["cross: no weights"]),
    "broken weights": (
        write("cross/model.onnx", b"nothing"),
        SCORE,
        ["model.onnx: not a model that onnxruntime can run"],
    ),
    "another network": (
        lambda: shutil.copy("bi/model.onnx", "cross/model.onnx"),
        SCORE,
        ["this is an encoder, not a cross-encoder"],
    ),
    "document too long": (
        recipe_with('"./cross"', '"./cross"\nmax_length = 16\nlong_documents = "refuse"'),
        SCORE,
        ["document 'd", "more than the 16 tokens", 'long_documents = "cut"'],
    ),
    "every query too long": (
        lambda: (every_query("balak " * 20)(), recipe_with('"./cross"', '"./cross"\nmax_length = 16')()),
        SCORE,
        ["surecut: query 'q", "23 tokens and the model takes 16"],
    ),
    "malformed document": (append("data/corpus.jsonl", '{"_id": \n'), SCORE, ["corpus.jsonl, line 301: not JSON"]),
    "repeated document": (
        append("data/corpus.jsonl", '{"_id": "d3", "text": "x"}\n'),
        SCORE,
        ["documents 4 and 301 have the same id 'd3'"],
    ),
    "document without text": (append("data/corpus.jsonl", '{"_id": "x"}\n'), SCORE, ["line 301: 'x' has no text"]),
    "half a surrogate pair": (
        append("data/corpus.jsonl", '{"_id": "x", "text": "balak \\ud83d"}\n'),
        SCORE,
        ["corpus.jsonl, line 301"],
    ),
    "half a surrogate pair in a query": (first_query("balak \ud83d"), SCORE, ["queries.jsonl, line 1"]),
    "not UTF-8": (write("data/corpus.jsonl", b'{"_id": "x", "text": "\xff"}\n'), SCORE, ["corpus.jsonl, line 1"]),
    "repeated query": (append("data/queries.jsonl", '{"_id": "q3", "text": "x"}\n'), SCORE, ["two queries", "'q3'"]),
    "query without text": (first_query(""), SCORE, ["query 'q0' has no text"]),
    "qrels of other queries": (
        write("data/qrels/test.tsv", b"x 0 d1 1\n"),
        SCORE,
        ["none of the 80 queries is judged"],
    ),
    "broken qrels": (write("data/qrels/test.tsv", b"q1 0 d1 good\n"), SCORE, ["test.tsv, line 1", "'good'"]),
    "two grades": (
        append("data/qrels/test.tsv", "q1\td9\t1\nq1\td9\t0\n"),
        SCORE,
        ["the judgements give document 'd9' two grades for query 'q1'"],
    ),
    "spoilt zip": (spoilt_zip, SCORE, ["data.zip"]),
    "unknown data set": (recipe_with('beir = "data"', 'ir_datasets = "no/set"'), SCORE, ["knows no data set 'no/set'"]),
    "unknown data set in rank": (
        recipe_with('beir = "data"', 'ir_datasets = "no/set"'),
        RANK,
        ["no data set 'no/set'"],
    ),
    "another recipe": (
        recipe_with("depth = 50", "depth = 49"),
        "score tiny.toml -o table",
        ["begun with another depth"],
    ),
    "broken table": (write("table/meta.json", b"{"), "score tiny.toml -o table", ["meta.json"]),
    "output below a file": (None, "score tiny.toml -o tiny.toml/out", ["tiny.toml/out: cannot be written"]),
    "output is a file": (None, "score tiny.toml -o cert.json", ["cert.json: cannot be written"]),
    "output not writable": (None, "score tiny.toml -o /proc", ["/proc"]),
    "depth beyond ef_search": (
        recipe_with('kind = "bm25"', DENSE + '\nsearch_by = "hnsw"\nef_search = 10'),
        SCORE,
        ["ef_search = 10 must be at least the depth, 50"],
    ),
    "pooling unknown": (
        recipe_with('kind = "bm25"', DENSE.replace('pooling = "mean"', "")),
        SCORE,
        ["does not say how to pool"],
    ),
    "measure unknown": (recipe_with('beta = "fit"', 'measure = "XYZ"'), SCORE, ["[fusion]", "XYZ"]),
    "no certificate": (remove("cert.json"), RANK, ["cert.json: No such file"]),
    "edited certificate": (append("cert.json", "}"), RANK, ["cert.json: not a whole JSON"]),
    "another model": (recipe_with("./cross", "./other"), RANK, ["the reranker of this data is not the certificate's"]),
    "another parameter": (recipe_with('"bm25"', '"bm25"\nb = 1.0'), SPEEDUP, ["the retriever of this data is not"]),
    "too shallow": (recipe_with("depth = 50", "depth = 20"), SPEEDUP, ["retrieves 20 candidates", "set depth = 50"]),
    "empty query": (None, "rank cert.json tiny.toml --query=", ["the query has no text"]),
    "no query": (None, "rank cert.json tiny.toml", ["--query"]),
    "top 0": (None, RANK + " -k 0", ["--top"]),
    "no queries to time": (None, SPEEDUP + " --queries 0", ["--queries"]),
}


@pytest.mark.parametrize(("spoil", "command", "said"), CASES.values(), ids=CASES)
def test_bad_input_is_one_line(surecut, files, spoil, command, said):
    if spoil is not None:
        spoil()
    ended = surecut(*command.split())
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.count("\n") == 1
    assert ended.err.startswith("surecut: ")
    assert all(each in ended.err for each in said), ended.err


def test_an_unfinished_table_is_refused_by_calibrate(surecut, files):
    Path("table/unfinished.json").write_text("{}")
    Path("table/meta.json").unlink()
    ended = surecut("calibrate", "--table", "table")
    assert ended.status == 2
    assert ended.err.count("\n") == 1
    assert "table: not finished; run surecut score again with the same recipe" in ended.err


def test_a_full_disk_is_one_line_and_the_same_command_goes_on(made, files, monkeypatch, surecut):
    monkeypatch.setenv("SURECUT_CACHE", str(made.cache))
    recipe_with('beir = "data"', f'beir = "{made.folder / "data"}"')()
    with pytest.raises(KeyboardInterrupt):
        score(read_recipe("tiny.toml"), "out", After(7, stop))
    limit = 30_000  # the last block fits, the part of all of them does not
    done = subprocess.run(
        [sys.executable, "-m", "surecut", *SCORE.split()],
        capture_output=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode() == "surecut: out/candidates/part-00000.parquet: cannot be written (File too large)\n"
    kept = {path: path.stat().st_mtime_ns for path in Path("out/blocks").iterdir()}
    assert len(kept) == 8
    assert surecut(*SCORE.split()).status == 0
    whole, mended = contents(files / "table"), contents(files / "out")
    assert mended.pop("meta.json") != whole.pop("meta.json")  # the recipe names the collection by another path
    assert mended == whole


@pytest.mark.parametrize(
    ("number", "status", "word"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]
)
def test_a_signal_ends_it_in_words_and_the_same_command_goes_on(started, surecut, files, number, status, word):
    cross_encoder(files / "cross", layers=4)
    recipe_with("depth = 50", "depth = 500")()
    recipe_with('"data"', '"data"\nsample = 30')()
    process = started(SCORE)
    limit = time.monotonic() + 60
    while not list(files.glob("out/blocks/block-*")):
        assert process.poll() is None
        assert time.monotonic() < limit
        time.sleep(0.01)
    process.send_signal(number)
    assert process.wait(timeout=30) == status
    kept, said = process.stderr.read().decode().splitlines()[-2:]
    assert (kept, said) == (
        "what is scored is kept: the same command goes on where it was",
        f"surecut: {word}",
    )
    assert surecut(*SCORE.split()).status == 0
    assert len(sc.read_table("out")) == 30
