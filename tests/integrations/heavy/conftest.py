"""The libraries' own rerankers with a real cross-encoder (`make test-heavy` puts it into .models)."""

import os
from importlib.util import find_spec
from pathlib import Path

import pytest
from benchmarks.real.checkpoint import CHECKPOINT
from examples import docstrings

ROOT = Path(__file__).parents[3]

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"


def pytest_ignore_collect(config):
    """Without torch, or where heavy tests are left out, their modules are not even imported."""
    return True if find_spec("torch") is None or "not heavy" in config.getoption("markexpr") else None


@pytest.fixture(scope="session")
def model():
    folder = ROOT / ".models" / CHECKPOINT
    assert folder.is_dir(), "run make test-heavy, which fetches the model"
    return str(folder)


@pytest.fixture(scope="session")
def collection():
    return docstrings.load()


@pytest.fixture(scope="session")
def certificate(collection, model, tmp_path_factory):
    path = tmp_path_factory.mktemp("certificate") / "docstrings.json"
    made = docstrings.certificate(collection, model, path)
    assert made.certified
    assert made.mean_kept < docstrings.DEPTH * 0.9
    return path
