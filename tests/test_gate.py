"""The example job for CI does what it says: a good model passes, a bad one is stopped."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

import surecut as sc
from surecut.io.writing import write_trec
from tests.running import run

JOB = yaml.safe_load((Path(__file__).parents[1] / "examples" / "ci" / "rerank-gate.yml").read_text(encoding="utf-8"))
STEPS = {step["name"]: step for step in JOB["jobs"]["gate"]["steps"] if "surecut " in step.get("run", "")}
INFORMS = [name for name, step in STEPS.items() if step.get("continue-on-error")]
CHECK, CALIBRATE, CHECK_NEW, DIFF, REPORT = STEPS
LIMIT = "--max-kept-rise 10%"


@pytest.fixture(scope="module")
def repository(tmp_path_factory) -> Path:
    """A repository whose production certificate was made from one half of a shipped table."""
    folder = tmp_path_factory.mktemp("repository")
    parts = sc.read_table("example:quora-duplicates-bm25-minilm").split((0.5, 0.5))
    (folder / "certificates").mkdir()
    sc.calibrate(parts[0], target=sc.max_drop(0.02)).save(folder / "certificates" / "production.json")
    for part, data in zip(("calibration", "held-out"), parts, strict=True):
        write_trec(data, folder / "good" / part)
        better = replace(data, reranker=data.reranker + 3.0 * (data.grades > 0) * is_deep(data))
        write_trec(better, folder / "dearer" / part)
    return folder


def is_deep(data: sc.Candidates):
    """A model that finds what the retriever ranks low, so that pruning costs it more."""
    return np.arange(data.retriever.size) - np.repeat(data.offsets[:-1], data.lengths) >= 2


def passed(repository: Path, model: str, limit: str = LIMIT) -> dict[str, int]:
    shutil.rmtree(repository / "runs", ignore_errors=True)
    shutil.copytree(repository / model, repository / "runs")
    return {
        name: run(f"export GITHUB_STEP_SUMMARY=summary.md; {step['run'].replace(LIMIT, limit)}", repository).status
        for name, step in STEPS.items()
    }


def test_a_model_that_is_no_worse_passes_every_step(repository):
    assert set(passed(repository, "good").values()) == {0}
    assert (repository / "summary.md").read_text().startswith("### ✓ surecut: certified")


def test_a_model_that_pruning_makes_dearer_is_stopped(repository):
    found = passed(repository, "dearer")
    assert found == {CHECK: 1, CALIBRATE: 0, CHECK_NEW: 0, DIFF: 1, REPORT: 0}


def test_it_passes_with_a_certificate_of_its_own_once_the_price_is_agreed_to(repository):
    """The old threshold does not suit it, and the step that says so stops nothing."""
    assert LIMIT in STEPS[DIFF]["run"]
    found = passed(repository, "dearer", "--max-kept-rise 10000%")
    assert [name for name, status in found.items() if status] == INFORMS == [CHECK]
