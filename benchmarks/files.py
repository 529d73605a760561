"""The whole command from two runs of five million lines, beside a bare CSV reader; and loading alone."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from benchmarks.result import Result
from benchmarks.systems import Files, write_files
from benchmarks.timing import Finished, fastest, run_command
from surecut import read_trec

QUERIES, DEPTH = 5_000, 1_000
SLICE = 10  # readers that take minutes read a tenth of the queries, and their time is scaled
MAX_TIMES_CSV, MAX_BYTES = 4, 2.5e9
MIN_TIMES_FASTER = 5


def run() -> Iterator[Result]:
    with tempfile.TemporaryDirectory() as folder:
        files = write_files(Path(folder, "whole"), QUERIES, DEPTH)
        part = write_files(Path(folder, "part"), QUERIES // SLICE, DEPTH)
        yield from _command(files, Path(folder, "cert.json"))
        yield from _loading(files, part)


def _command(files: Files, output: Path) -> Iterator[Result]:
    ended: list[Finished] = []
    words = ["-m", "surecut", "calibrate", *files.options(), "-o", str(output)]
    _, csv = fastest(lambda: ended.append(run_command(words)), lambda: read_as_csv(files), repeats=3)
    seconds = min(each.seconds for each in ended)
    what = f"surecut calibrate, two runs of {QUERIES * DEPTH:,} lines"
    yield Result(what, seconds, "polars.read_csv of both runs", csv, "slower", MAX_TIMES_CSV)
    yield Result(
        f"{what}: peak memory", max(each.peak_bytes for each in ended), "2.5 GB", MAX_BYTES, "slower", 1, unit="B"
    )


def _loading(files: Files, part: Files) -> Iterator[Result]:
    (seconds,) = fastest(lambda: read_trec(*files.runs, files.qrels), repeats=3)
    ranx, loop = fastest(lambda: read_by_ranx(part), lambda: read_by_loop(part), repeats=2)
    for name, taken in (("ranx", ranx), ("a Python loop into dicts", loop)):
        against = f"{name} (1/{SLICE} of the queries, scaled)"
        yield Result("read_trec, the same files", seconds, against, taken * SLICE, "faster", MIN_TIMES_FASTER)


def read_as_csv(files: Files) -> None:
    for path in files.runs:
        pl.read_csv(path, separator=" ", has_header=False)


def read_by_ranx(files: Files) -> None:
    from ranx import Qrels, Run

    for path in files.runs:
        Run.from_file(str(path), kind="trec")
    Qrels.from_file(str(files.qrels), kind="trec")


def read_by_loop(files: Files) -> None:
    for path in files.runs:
        run: dict[str, dict[str, float]] = {}
        with open(path) as lines:
            for line in lines:
                query, _, doc, _, score, _ = line.split()
                run.setdefault(query, {})[doc] = float(score)
    qrels: dict[str, dict[str, int]] = {}
    with open(files.qrels) as lines:
        for line in lines:
            query, _, doc, grade = line.split()
            qrels.setdefault(query, {})[doc] = int(grade)
