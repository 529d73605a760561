"""A short feed of every fuzzer: nothing is found."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.hostile.readers import TARGETS

pytestmark = pytest.mark.heavy

ROOT = Path(__file__).parents[3]
RUNS = 2000


@pytest.mark.parametrize("name", TARGETS)
def test_nothing_is_found(name):
    pytest.importorskip("atheris")
    command = [sys.executable, "-m", "fuzz", name, "--runs", str(RUNS)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
    assert done.returncode == 0, done.stdout
    assert "nothing found" in done.stdout
