"""The site builds without a warning, loads nothing from elsewhere, and its reference leaves nothing out."""

import doctest
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import surecut as sc
from tests.running import VERBS, unknown_options

DOCS = Path(__file__).parents[2] / "docs"
HOMES = sorted({getattr(sc, name).__module__ for name in sc.__all__ if name != "__version__"})
LOADED = re.compile(r'<(?:script|img|iframe|link)\b[^>]*\b(?:src|href)="(?:https?:)?//')


@pytest.fixture
def verbs_in_words(monkeypatch):
    monkeypatch.syspath_prepend(DOCS)
    return import_module("verbs").verbs_in_words()


def test_the_site_builds_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path):
    """Sphinx warns of every link between pages, and every anchor, that leads nowhere."""
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-d", tmp_path / "trees", DOCS, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.returncode == 0
    built = {path.relative_to(tmp_path).as_posix(): path.read_text("utf-8") for path in tmp_path.rglob("*.html")}
    pages = {path.relative_to(DOCS).with_suffix(".html").as_posix() for path in DOCS.rglob("*.md")}
    assert pages <= set(built)
    assert [page for page, text in built.items() if LOADED.search(text)] == []
    for verb in VERBS:
        assert f"<h2>surecut {verb}<" in built["reference/command-line.html"]


def test_the_reference_has_every_public_name():
    page = (DOCS / "reference" / "python.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^\.\. auto\w+:: surecut\.(\w+)", page, re.MULTILINE))
    assert set(sc.__all__) - documented == {"__version__"}


def test_the_command_line_reference_has_every_option(verbs_in_words):
    parts = dict(re.findall(r"^## surecut ([\w ]+)\n(.*?)(?=^## |\Z)", verbs_in_words, re.MULTILINE | re.DOTALL))
    assert list(parts) == list(VERBS)
    for verb, part in parts.items():
        for option in VERBS[verb].params:
            assert f"`{max(option.opts, key=len)}" in part or f"`{option.metavar}`" in part, (verb, option.name)
            assert str(option.help) in part, (verb, option.name)


def test_the_examples_of_the_verbs_name_what_exists(verbs_in_words):
    assert verbs_in_words.count("```sh") == len(VERBS)
    assert list(unknown_options(verbs_in_words)) == []


@pytest.mark.parametrize("module", HOMES)
def test_the_examples_in_docstrings_are_true(module):
    assert doctest.testmod(import_module(module)).failed == 0
