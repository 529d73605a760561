"""Examples in Markdown pages, run as they stand: a page shows what its commands print, or a test fails.

In a ```console block a line `$ command` is followed by all that it prints, on stdout and stderr; a line `...` stands
for lines that are left out. Where a command ends with another exit status than 0, `$ echo $?` follows and shows it.
"""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from typer.main import get_command

from surecut.cli.app import app

VERBS = get_command(app).commands  # type: ignore[attr-defined]
LEFT_OUT = "..."

_FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NAMED = re.compile(r"(?:^(?: {4}|\$ )?|`|\| |; |&& )surecut ((?:[^`\n|;&#]|\\\n)*)", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page, and the line it begins at."""

    language: str
    text: str
    line: int


@dataclass(frozen=True)
class Command:
    """A command of a console block, and the lines that are shown below it."""

    line: str
    shown: list[str]


@dataclass(frozen=True)
class Done:
    """What a command printed, and its exit status."""

    printed: list[str]
    status: int


def blocks(page: str) -> list[Block]:
    return [Block(found[1], found[2], page[: found.start()].count("\n") + 1) for found in _FENCED.finditer(page)]


def commands(console: str) -> list[Command]:
    """The commands of a console block; a backslash at the end of a line goes on with the next one."""
    found: list[Command] = []
    for line in console.splitlines():
        if line.startswith("$ "):
            found.append(Command(line.removeprefix("$ "), []))
        elif not found:
            raise ValueError(f"a console block begins with '$ command', not with '{line}'")
        elif not found[-1].shown and found[-1].line.endswith("\\"):
            found[-1] = Command(f"{found[-1].line[:-1]}{line.strip()}", [])
        else:
            found[-1].shown.append(line.rstrip())
    return found


def run(command: str, folder: Path, columns: int = 100) -> Done:
    """Run a command line in a folder, on a terminal of so many columns."""
    environment = {
        "COLUMNS": str(columns),
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "PYTHONUNBUFFERED": "1",  # so that stdout and stderr come in the order they were written
    }
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=environment,
        check=False,
    )
    return Done([line.rstrip() for line in done.stdout.splitlines()], done.returncode)


def is_printed(shown: list[str], printed: list[str]) -> bool:
    """Are the shown lines all that was printed, but for lines left out?"""
    parts: list[list[str]] = [[]]
    for line in shown:
        if line == LEFT_OUT:
            parts.append([])
        else:
            parts[-1].append(line)
    pattern = r"(?:.*\n)*?".join("".join(re.escape(f"{line}\n") for line in part) for part in parts)
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in printed)) is not None


def unknown_options(text: str) -> Iterator[str]:
    """Commands of a page, in blocks or in a line of text, that name a verb or an option surecut does not have."""
    for found in _NAMED.finditer(text):
        command = found[1].replace("\\\n", " ")
        words = shlex.split(command, comments=True)
        verb = next(iter(words), "--help")
        if verb.startswith("-"):
            continue
        if verb not in VERBS:
            yield f"surecut {command}"
            continue
        known = {name for option in VERBS[verb].params for name in option.opts} | {"--help", "-h"}
        if any(re.match(r"--?[a-z]", word) and word.split("=")[0] not in known for word in words[1:]):
            yield f"surecut {command}"
