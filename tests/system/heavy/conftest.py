"""Tests that need torch: kept apart, so that nothing else pays for importing it."""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

from surecut.system.texts import TextStore
from tests.system import making

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Without torch, or where heavy tests are left out, their modules are not even imported."""
    return True if find_spec("torch") is None or "not heavy" in config.getoption("markexpr") else None


@pytest.fixture(scope="session")
def folder_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A new folder that outlives the test."""
    return tmp_path_factory.mktemp


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> TextStore:
    """The documents of tiny.py on disk."""
    from tests.system.heavy.tiny import DOCUMENTS

    return making.store(tmp_path_factory.mktemp("documents"), DOCUMENTS)


@dataclass(frozen=True)
class Result:
    """How a command ended."""

    status: int
    out: str
    err: str


@pytest.fixture
def surecut(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """Run a verb in this process, which has torch already; an exception that escapes `main` fails the test."""
    from surecut.cli import main

    def run(*arguments: object) -> Result:
        monkeypatch.setattr(sys, "argv", ["surecut", *map(str, arguments)])
        capfd.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main()
        shown = capfd.readouterr()
        return Result(int(stopped.value.code or 0), shown.out, shown.err)

    return run
