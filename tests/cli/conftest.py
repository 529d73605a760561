"""Small simulated systems as run files, and two ways to run the command line on them."""

import io
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.system.making import bi_encoder, cross_encoder, write_beir, write_recipe

import surecut as sc
from surecut.candidates import Candidates
from surecut.system.recipe import read_recipe
from surecut.system.scoring import score

COMMAND = (sys.executable, "-m", "surecut")


@dataclass(frozen=True)
class Result:
    """How a command ended."""

    status: int
    out: str
    err: str

    @property
    def words(self) -> str:
        """Standard output without frames, colours and line breaks."""
        plain = re.sub(r"\x1b\[[0-9;]*m", "", self.out)
        return " ".join(re.sub("[│╭╮╰╯─]", " ", plain).split())


@dataclass(frozen=True)
class Runs:
    """The three files of one system."""

    retriever: Path
    reranker: Path
    qrels: Path

    @property
    def options(self) -> list[str]:
        return ["--retriever", str(self.retriever), "--reranker", str(self.reranker), "--qrels", str(self.qrels)]


def write_runs(data: Candidates, folder: Path, name: str) -> Runs:
    """Candidates as two TREC runs and qrels."""
    assert data.reranker is not None
    first, second, judged = [], [], []
    for q, query in enumerate(data.query_ids):
        for place, row in enumerate(range(data.offsets[q], data.offsets[q + 1])):
            document = f"d{place:03d}"
            first.append(f"{query} Q0 {document} {place + 1} {float(data.retriever[row])!r} first")
            second.append(f"{query} Q0 {document} 0 {float(data.reranker[row])!r} second")
            if data.grades[row] > 0:
                judged.append(f"{query} 0 {document} {data.grades[row]}")
        for place, grade in enumerate(data.missed[data.missed_offsets[q] : data.missed_offsets[q + 1]]):
            judged.append(f"{query} 0 unseen{place} {grade}")
    paths = Runs(folder / f"{name}.ret.run", folder / f"{name}.rer.run", folder / f"{name}.qrels")
    for path, lines in ((paths.retriever, first), (paths.reranker, second), (paths.qrels, judged)):
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return paths


@pytest.fixture(scope="session")
def systems(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Runs]:
    """calibration and held-out queries of one system, and one whose relevant documents come last."""
    folder = tmp_path_factory.mktemp("systems")
    calibration, held_out = sc.simulate(queries=400, depth=20, seed=3).split((0.5, 0.5))
    lengths = held_out.lengths
    last = held_out.offsets[1:] - 1
    grades, reranker = 0 * held_out.grades, held_out.reranker.copy()
    grades[last], reranker[last] = 1, reranker.max() + 1
    worse = Candidates.from_arrays(
        held_out.retriever.reshape(-1, lengths[0]),
        reranker.reshape(-1, lengths[0]),
        grades.reshape(-1, lengths[0]),
        query_ids=held_out.query_ids,
    )
    parts = {"calibration": calibration, "held-out": held_out, "worse": worse}
    return {name: write_runs(data, folder, name) for name, data in parts.items()}


@pytest.fixture(scope="session")
def certificate(systems: dict[str, Runs], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Certified on the calibration queries: RR@10 falls by at most 20%."""
    runs = systems["calibration"]
    path = tmp_path_factory.mktemp("certificate") / "cert.json"
    sc.calibrate(sc.read_trec(runs.retriever, runs.reranker, runs.qrels), target=sc.max_drop(0.2)).save(path)
    return path


@pytest.fixture
def surecut(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., Result]:
    """Run a verb in this process, in a folder of its own; an exception that escapes `main` fails the test."""
    from surecut.cli import main

    monkeypatch.chdir(tmp_path)

    def run(*arguments: object, stdin: bytes = b"") -> Result:
        monkeypatch.setattr(sys, "argv", ["surecut", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main()
        shown = capsys.readouterr()
        assert isinstance(stopped.value.code, int)
        return Result(stopped.value.code, shown.out, shown.err)

    return run


@pytest.fixture
def shell(tmp_path: Path) -> Callable[..., Result]:
    """Run a verb as a process of its own, as a user does."""

    def run(*arguments: object, stdin: bytes = b"") -> Result:
        plain = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "GITHUB_ACTIONS")}
        done = subprocess.run(
            [*COMMAND, *map(str, arguments)], input=stdin, capture_output=True, cwd=tmp_path, env=plain, timeout=120
        )
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Callable[[str], subprocess.Popen[bytes]]]:
    """Start a command as a process of its own; it does not outlive the test."""
    running: list[subprocess.Popen[bytes]] = []

    def start(command: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-u", "-m", "surecut", *command.split()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        running.append(process)
        return process

    yield start
    for process in running:
        process.kill()
        for pipe in (process.stdin, process.stdout, process.stderr):
            pipe.close()
        process.wait()


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """A folder with a collection, models, a recipe, its score table and a certificate; and its cache."""
    root = tmp_path_factory.mktemp("made")
    folder = root / "system"
    folder.mkdir()
    write_beir(folder / "data")
    cross_encoder(folder / "cross")
    cross_encoder(folder / "other", seed=1)
    bi_encoder(folder / "bi")
    recipe = write_recipe(
        folder / "tiny.toml",
        collection='beir = "data"',
        reranker='kind = "cross-encoder"\nmodel = "./cross"',
        fusion='[fusion]\nbeta = "fit"',
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SURECUT_CACHE", str(root / "cache"))
        score(read_recipe(recipe), folder / "table")
    sc.calibrate(sc.read_table(folder / "table"), target=sc.max_drop(0.1), fusion="fit").save(folder / "cert.json")
    return SimpleNamespace(folder=folder, cache=root / "cache")


@pytest.fixture
def files(made: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the folder of `made`, where the command runs."""
    shutil.copytree(made.folder, tmp_path, dirs_exist_ok=True)
    monkeypatch.setenv("SURECUT_CACHE", str(tmp_path / ".cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path
