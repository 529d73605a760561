"""Hostile files, small on disk, and the commands that are asked to read them."""

import bz2
import gzip
import json
import os
import struct
import zipfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import polars as pl
import zstandard

from surecut import calibrate, max_drop, simulate
from surecut.certificate import _digest
from surecut.io.writing import write_trec
from tests.hostile.parquet import LIES, LONG_NAMES
from tests.system.making import write_beir

CALIBRATE = "calibrate --retriever ret.run --reranker rer.run --qrels qrels.txt"
READ_ALL = "report cert.json --table table -o page.html"  # reads every column of every list
PRUNE = "prune cert.json --retriever ret.run -o out.run"
SCORE = "score recipe.toml -o out"
RECIPE = '[collection]\n{}\n[retriever]\nkind = "bm25"\n[reranker]\nkind = "run"\nrun = "rer.run"\n'
HUGE = 200 << 30
LINE = b"q Q0 d 1 1.0 t\n"
RECORD = b'{"_id": "d", "text": "some text"}\n'


@dataclass(frozen=True)
class Case:
    """Something to do to a folder of good files, the command that then fails, and what it says."""

    spoil: object
    command: str
    said: str
    feed: str | None = None  # a file that is standard input


@cache
def _good():
    data = simulate("dense-electra", queries=60, depth=10, seed=3)
    return data, calibrate(data, target=max_drop(0.5)).to_json()


def lay_out(folder: Path) -> None:
    """Good files of every kind."""
    data, certificate = _good()
    write_trec(data, folder)
    for old, new in (("retriever.run", "ret.run"), ("reranker.run", "rer.run")):
        (folder / old).rename(folder / new)
    (folder / "cert.json").write_text(certificate)
    (folder / "recipe.toml").write_text(RECIPE.format('beir = "data"'))
    (folder / "table").mkdir()


def sparse(name, start=b"", end=b"", size=HUGE):
    """A file with a hole of gigabytes, which takes no room on disk."""

    def spoil(folder):
        with (folder / name).open("wb") as file:
            file.write(start)
            file.truncate(size)
            file.seek(size - len(end))
            file.write(end)

    return spoil


def content(name, made):
    """A file with this content."""
    return lambda folder: (folder / name).write_bytes(made() if callable(made) else made)


def bomb(pack, line=LINE, repeated=200_000, times=400):
    """Packed parts, one after the other: a few megabytes that become many gigabytes."""
    return lambda: pack(line * repeated) * times


def link(name, target):
    """A link to a file of the system's."""

    def spoil(folder):
        (folder / name).unlink(missing_ok=True)
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).symlink_to(target)

    return spoil


def both(*steps):
    def spoil(folder):
        for step in steps:
            step(folder)

    return spoil


def record_with(**changes):
    """A certificate with other fields and the digest that belongs to them."""

    def made():
        record = {**json.loads(_good()[1]), **changes}
        del record["digest"]
        return json.dumps({**record, "digest": _digest(record)}).encode()

    return content("cert.json", made)


def beir(folder):
    write_beir(folder / "data")


def documents(name):
    """A recipe that reads its documents from a file."""
    return content("recipe.toml", RECIPE.format(f'documents = "{name}"\nqueries = "data/queries.jsonl"').encode())


def zipped(compression=zipfile.ZIP_DEFLATED, *, corpus, spoil=lambda packed: packed):
    """A BEIR zip whose corpus is that many equal records."""

    def made(folder):
        write_beir(folder / "data")
        with zipfile.ZipFile(folder / "data.zip", "w", compression) as archive:
            archive.write(folder / "data" / "queries.jsonl", "x/queries.jsonl")
            archive.write(folder / "data" / "qrels" / "test.tsv", "x/qrels/test.tsv")
            with archive.open("x/corpus.jsonl", "w", force_zip64=True) as file:
                for _ in range(corpus):
                    file.write(b" " * (1 << 20))
        (folder / "data.zip").write_bytes(spoil((folder / "data.zip").read_bytes()))
        content("recipe.toml", RECIPE.format('beir = "data.zip"').encode())(folder)

    return made


def texts_many_times(folder):
    """A collection in Parquet, of one long text that is meant again and again."""
    frame = pl.DataFrame({"_id": [str(i) for i in range(50_000)]}).with_columns(text=pl.lit("x" * 1_000_000))
    frame.lazy().with_columns(pl.col("text").cast(pl.Categorical)).collect().write_parquet(folder / "corpus.parquet")


RUNS = {
    "a run of one line": Case(sparse("ret.run"), CALIBRATE, "ret.run: the line at byte 0 is longer"),
    "a run that becomes one line": Case(sparse("ret.run", LINE), PRUNE, "ret.run: the line at byte 15 is longer"),
    "a reranker's run of one line": Case(sparse("rer.run", b"BZ"), CALIBRATE, "rer.run: the line at byte 0"),
    "judgements of one line": Case(sparse("qrels.txt", b"q 0 d 1\n"), CALIBRATE, "qrels.txt: the line at byte 8"),
    "a gzip bomb": Case(content("ret.run", bomb(gzip.compress)), CALIBRATE, "ret.run: "),
    "a gzip bomb of one line": Case(content("ret.run", bomb(gzip.compress, b" ")), PRUNE, "is longer than 1,048,576"),
    "a bz2 bomb": Case(content("ret.run", bomb(bz2.compress, times=2000)), CALIBRATE, "packed bytes become more than"),
    "a zstd bomb": Case(content("rer.run", bomb(zstandard.compress)), CALIBRATE, "packed bytes become more than"),
    "a gzip bomb of judgements": Case(
        content("qrels.txt", bomb(gzip.compress, b"q 0 d 1\n")), CALIBRATE, "packed bytes become more than"
    ),
    "gzip cut short": Case(content("ret.run", gzip.compress(LINE * 99)[:-9]), CALIBRATE, "ret.run: "),
    "zstd cut short": Case(content("ret.run", zstandard.compress(LINE * 99)[:-9]), CALIBRATE, "ret.run: "),
    "zstd with a window of gigabytes": Case(
        content("ret.run", b"\x28\xb5\x2f\xfd\x00" + bytes([21 << 3]) + b"\x03\0\0" * 9), CALIBRATE, "ret.run: "
    ),
    "zeros without end": Case(None, CALIBRATE.replace("ret.run", "/dev/zero"), "/dev/zero: the line at byte 0"),
    "noise without end": Case(None, CALIBRATE.replace("ret.run", "/dev/urandom"), "/dev/urandom: not a text file"),
    "zeros on standard input": Case(None, PRUNE.replace("ret.run", "-"), "-: the line at byte 0", "/dev/zero"),
    "noise on standard input": Case(None, PRUNE.replace("ret.run", "-"), "-: not a text", "/dev/urandom"),
    "a link to itself": Case(link("ret.run", "ret.run"), CALIBRATE, "ret.run: Too many levels of symbolic links"),
    "columns without number": Case(content("ret.run", b"q " * 500_000), CALIBRATE, "line 1: 500000 columns where 6"),
    "an id of a megabyte": Case(
        content("ret.run", b"q Q0 %b 1 high t\n" % (b"d" * 1_000_000)), CALIBRATE, "the score is not a finite number"
    ),
    "a score of a megabyte": Case(
        content("ret.run", b"q Q0 d 1 %b t\n" % (b"9" * 1_000_000)), CALIBRATE, "the score is not a finite number"
    ),
    "an id that a terminal would act on": Case(
        content("ret.run", b"q Q0 \x1b[2J\x07d 1 high\x1b[2J t\n"), CALIBRATE, "'high\\x1b[2J'"
    ),
    "old line ends": Case(content("ret.run", LINE.replace(b"\n", b"\r") * 9), CALIBRATE, "54 columns where 6"),
    "zeros between lines": Case(content("ret.run", LINE + b"\0" * 5000 + b"\n"), CALIBRATE, "line 2: 1 columns"),
}

GROUPS = {
    "groups of one line": Case(sparse("g.tsv"), f"{CALIBRATE} --groups g.tsv", "g.tsv, line 1: longer than"),
    "groups of zeros": Case(None, f"{CALIBRATE} --groups /dev/zero", "/dev/zero, line 1: longer than"),
    "groups of noise": Case(None, f"{CALIBRATE} --groups /dev/urandom", "/dev/urandom: not a text file"),
    "groups that are a folder": Case(None, f"{CALIBRATE} --groups table", "table: Is a directory"),
}

CERTIFICATES = {
    "a certificate of gigabytes": Case(sparse("cert.json"), "show cert.json", "cert.json: more than 1,048,576 bytes"),
    "a certificate of zeros": Case(None, "show /dev/zero", "/dev/zero: more than 1,048,576 bytes"),
    "a certificate of noise": Case(None, "check /dev/urandom --table table", "/dev/urandom: more than 1,048,576"),
    "zeros as a certificate": Case(None, "show -", "standard input: more than 1,048,576 bytes", "/dev/zero"),
    "deep JSON": Case(content("cert.json", b"[" * 1_000_000), "show cert.json", "cert.json: nested too deep"),
    "deep objects": Case(content("cert.json", b'{"a":' * 100_000), PRUNE, "cert.json: nested too deep"),
    "a number of a megabyte": Case(content("cert.json", b"9" * 1_000_000), PRUNE, "is beyond 64 bits"),
    "half a character": Case(content("cert.json", b'{"schema": "\\ud800"}'), PRUNE, "half of a surrogate pair"),
    "no numbers": Case(record_with(calibration={}), "show cert.json", "cert.json: calibration: "),
    "a depth of text": Case(record_with(depth="ten"), PRUNE, "cert.json: depth: "),
    "a rule of nothing": Case(record_with(rule=None), "export cert.json --to vespa", "cert.json: rule: "),
    "words for a terminal": Case(record_with(statement="\x1b[2Jsure"), "show cert.json", "cert.json: statement: "),
    "another rule's parameters": Case(
        record_with(rule={"name": "rank", "parameters": {"scale": 1}}), "diff cert.json cert.json", "rule.parameters"
    ),
}

TABLES = {
    **{
        f"a table with {name}": Case(content("table/candidates.parquet", lie.content), READ_ALL, "candidates.parquet: ")
        for name, lie in LIES.items()
    },
    **{
        f"a table with {name}": Case(
            content("table/candidates.parquet", lie.content),
            "calibrate --table table --agreement 0.9@3",
            "candidates.parquet: texts of",
        )
        for name, lie in LONG_NAMES.items()
    },
    "a table of a hole": Case(
        sparse("table/candidates.parquet", b"PAR1", struct.pack("<I", 1000) + b"PAR1"),
        READ_ALL,
        "candidates.parquet: not readable as Parquet",
    ),
    "a table of zeros": Case(
        link("table/candidates.parquet", "/dev/zero"), "calibrate --table table", "candidates.parquet: not a file"
    ),
    "meta.json of gigabytes": Case(
        sparse("table/meta.json"), "calibrate --table table", "meta.json: more than 16,777,216 bytes"
    ),
    "deep meta.json": Case(
        content("table/meta.json", b"[" * 1_000_000), "calibrate --table table", "meta.json: nested too deep"
    ),
}

COLLECTIONS = {
    "a recipe of gigabytes": Case(sparse("recipe.toml"), SCORE, "recipe.toml: more than 16,384 bytes"),
    "a recipe of zeros": Case(None, "score /dev/zero -o out", "/dev/zero: more than 16,384 bytes"),
    "a deep recipe": Case(content("recipe.toml", b"a = " + b"[" * 10_000), SCORE, "recipe.toml: not a recipe; it is"),
    "deep keys": Case(content("recipe.toml", b"a." * 8000 + b"a = 1"), SCORE, "recipe.toml: "),
    "a number of many digits": Case(content("recipe.toml", b"depth = " + b"9" * 9999), SCORE, "recipe.toml: not TOML"),
    "a corpus of one line": Case(both(beir, sparse("data/corpus.jsonl")), SCORE, "corpus.jsonl, line 1: longer than"),
    "queries of one line": Case(both(beir, sparse("data/queries.jsonl")), SCORE, "queries.jsonl, line 1: longer than"),
    "judgements that are one line": Case(
        both(beir, sparse("data/qrels/test.tsv")), SCORE, "test.tsv: the line at byte 0 is longer"
    ),
    "a corpus of zeros": Case(both(beir, link("data/corpus.jsonl", "/dev/zero")), SCORE, "no corpus.jsonl in it"),
    "a deep record": Case(both(beir, content("data/corpus.jsonl", b"[" * 1_000_000)), SCORE, "line 1: not a record"),
    "a zip bomb": Case(zipped(corpus=2000), SCORE, "data.zip/corpus.jsonl"),
    "a zip bomb in bz2": Case(zipped(zipfile.ZIP_BZIP2, corpus=200), SCORE, "pack it with deflate"),
    "a zip in lzma": Case(zipped(zipfile.ZIP_LZMA, corpus=1), SCORE, "pack it with deflate"),
    "a zip cut short": Case(zipped(corpus=1, spoil=lambda packed: packed[:-50]), SCORE, "data.zip: "),
    "a zip with another name": Case(
        zipped(corpus=1, spoil=lambda packed: packed.replace(b"x/corpus.jsonl", b"y/corpus.jsonl", 1)),
        SCORE,
        "data.zip",
    ),
    "gzip of records": Case(
        both(beir, documents("corpus.jsonl.gz"), content("corpus.jsonl.gz", bomb(gzip.compress, b" " * 99 + b"\n"))),
        SCORE,
        "corpus.jsonl.gz: ",
    ),
    "gzip of one record": Case(
        both(beir, documents("corpus.jsonl.gz"), content("corpus.jsonl.gz", bomb(gzip.compress, b" " * 99))),
        SCORE,
        "corpus.jsonl.gz",
    ),
    "one text many times": Case(
        both(beir, documents("corpus.parquet"), texts_many_times), SCORE, "corpus.parquet: texts of"
    ),
    "a collection that lies": Case(
        both(beir, documents("corpus.parquet"), content("corpus.parquet", LIES["a longer footer"].content)),
        SCORE,
        "corpus.parquet: not readable as Parquet",
    ),
}


def _long_lists(documents: int = 600_000) -> bytes:
    """A record that holds as many documents as the bytes it may have allow."""
    ids, scores = b'"a",' * documents, b"1," * documents
    return b'{"id":"q","ids":[' + ids[:-1] + b'],"retriever":[' + scores[:-1] + b"]}\n"


ADD = "monitor add cert.json --feedback feedback.jsonl"
AT_WORK = {
    "feedback of one line": Case(sparse("feedback.jsonl"), ADD, "feedback.jsonl, line 1: longer than"),
    "feedback of long lists": Case(content("feedback.jsonl", _long_lists() * 4), ADD, "'q': a document is twice"),
    "feedback of longer ones": Case(
        content("feedback.jsonl", _long_lists(2**20)), ADD, "line 1: longer than 4,194,304"
    ),
    "feedback of zeros": Case(None, "monitor add cert.json --feedback -", "line 1: longer than", "/dev/zero"),
    "deep feedback": Case(content("feedback.jsonl", b'{"id":' + b"[" * 1_000_000), ADD, "feedback.jsonl, line 1: "),
    "a store of gigabytes": Case(sparse("monitor.db"), "monitor show cert.json --store monitor.db", "monitor.db"),
    "a store of noise": Case(
        content("monitor.db", b"SQLite format 3\0" + bytes(range(256)) * 64),
        "monitor show cert.json --store monitor.db",
        "monitor.db",
    ),
    "keys of zeros": Case(None, "--trusted-keys /dev/zero show cert.json", "/dev/zero: more than 1,048,576 bytes"),
    "keys of a service of zeros": Case(None, "serve cert.json --api-key-file /dev/zero", "/dev/zero: more than"),
}

CASES = {**RUNS, **GROUPS, **CERTIFICATES, **TABLES, **COLLECTIONS, **AT_WORK}


def on_disk(folder: Path) -> int:
    """How much room the files of a folder take."""
    return sum(os.stat(path, follow_symlinks=False).st_blocks * 512 for path in folder.rglob("*"))
