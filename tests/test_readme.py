"""Every command that the README shows prints what the README says it prints."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
EXAMPLES = re.findall(r"```console\n\$ (.+)\n((?:.|\n)*?)```", README.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def demo_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("readme")
    run("surecut demo --files demo", folder)
    return folder


def run(command: str, folder: Path) -> str:
    verb = [sys.executable, "-m", "surecut", *shlex.split(command)[1:]]
    done = subprocess.run(
        verb, cwd=folder, capture_output=True, text=True, env={"COLUMNS": "100", "PATH": "/usr/bin:/bin"}, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_readme_has_examples():
    assert len(EXAMPLES) >= 2


def test_the_commands_of_the_readme_print_what_it_says(demo_folder):
    for command, shown in EXAMPLES:
        printed = {line.rstrip() for line in run(command, demo_folder).splitlines()}
        for line in shown.splitlines():
            assert line.rstrip() in printed


def test_every_verb_of_the_readme_exists():
    verbs = re.findall(r"`surecut (\w+)", README.read_text(encoding="utf-8"))
    for verb in set(verbs):
        assert "Example:" in run(f"surecut {verb} --help", README.parent)
