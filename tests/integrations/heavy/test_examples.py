"""Every example runs as its users run it, and all come to the same lists: the certificate's, by the same model."""

import os
import subprocess
import sys

import pytest
from examples import docstrings

import surecut as sc
from tests.integrations.heavy.conftest import ROOT

pytestmark = pytest.mark.heavy

EXAMPLES = sorted(path.name for path in (ROOT / "examples").glob("prune_*.py"))


@pytest.fixture(scope="module")
def expected(collection, certificate, model, tmp_path_factory):
    """By hand: survivors, scored one by one."""
    from sentence_transformers import CrossEncoder

    network, loaded = CrossEncoder(model), sc.load_certificate(certificate)
    lines = []
    for question in docstrings.new_questions(collection).values():
        names, scores = collection.candidates(question)
        kept = [names[place] for place in loaded.survivors(scores, names)]
        second = {name: float(network.predict([(question, collection.documents[name])])[0]) for name in kept}
        best = sorted(kept, key=lambda name: -second[name])[:3]
        lines += [question, f"  {len(kept)} of {docstrings.DEPTH} reranked; best: {', '.join(best)}"]
    return lines


def test_there_is_an_example_for_every_integration():
    modules = {path.stem for path in (ROOT / "src" / "surecut" / "integrations").glob("*.py")}
    shared = {"__init__", "stage", "fields", "dicts"}
    assert {name.removeprefix("prune_").removesuffix(".py") for name in EXAMPLES} == modules - shared


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_runs(name, expected, certificate, model):
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / name), "--model", model, "--certificate", str(certificate)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": "", "HAYSTACK_TELEMETRY_ENABLED": "false"},
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines()[: len(expected)] == expected
