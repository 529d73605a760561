"""Examples in Markdown pages, run as they stand: a page shows what its commands print, or a test fails.

In a ```console block a line `$ command` is followed by all that it prints, on stdout and stderr; a line `...` stands
for lines that are left out. Where a command ends with another exit status than 0, `$ echo $?` follows and shows it.
A ```python block is executed, a ```pycon block is a doctest; all those of a page share their names, and all blocks
share one folder.
"""

import contextlib
import doctest
import re
import shlex
import subprocess
import sys
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from surecut.cli.app import verbs

VERBS = verbs()
GROUPS = [[verb.split()[0]] for verb in VERBS if " " in verb]
LEFT_OUT = "..."

_FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"^ {4}(.*)$", re.MULTILINE)
_INLINE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_NAMED = re.compile(r"(?:^(?:\$ )?|\| |; |&& )surecut ((?:\\\n|[^\n|;&#])*)", re.MULTILINE)


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


def run(command: str, folder: Path, columns: int = 100, settings: Mapping[str, str] | None = None) -> Done:
    """Run a command line in a folder, on a terminal of so many columns, with these environment variables."""
    environment = {
        "COLUMNS": str(columns),
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "PYTHONUNBUFFERED": "1",  # so that stdout and stderr come in the order they were written
        **(settings or {}),
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


@dataclass(frozen=True)
class Player:
    """Runs the blocks of a page, one after the other, in one folder."""

    folder: Path
    columns: int
    settings: Mapping[str, str] = field(default_factory=dict)
    names: dict[str, Any] = field(default_factory=dict)

    def faults(self, page: str) -> Iterator[str]:
        """What does not come out as the page shows it, in words."""
        played = {"console": self._console, "python": self._python, "pycon": self._pycon}
        for block in blocks(page):
            if block.language in played:
                yield from (f"line {block.line}: {fault}" for fault in played[block.language](block))

    def _console(self, block: Block) -> Iterator[str]:
        status, stated = 0, True
        for command in commands(block.text):
            if command.line == "echo $?":
                done, stated = Done([str(status)], 0), True
            elif not stated:
                break
            else:
                done = run(command.line, self.folder, self.columns, self.settings)
                status, stated = done.status, done.status == 0
            if not is_printed(command.shown, done.printed):
                yield "\n".join((f"`{command.line}` printed", *done.printed, "and the page shows", *command.shown))
        if not stated:
            yield f"a command ended with status {status}, and no `echo $?` follows"

    def _python(self, block: Block) -> Iterator[str]:
        try:
            with contextlib.chdir(self.folder):
                exec(compile(block.text, "the page", "exec"), self.names)
        except Exception:
            yield f"a Python block failed\n{traceback.format_exc()}"

    def _pycon(self, block: Block) -> Iterator[str]:
        examples = doctest.DocTestParser().get_doctest(block.text, self.names, "the page", None, block.line)
        complaints: list[str] = []
        with contextlib.chdir(self.folder):
            doctest.DocTestRunner(verbose=False).run(examples, out=complaints.append, clear_globs=False)
        self.names.update(examples.globs)
        yield from complaints


def unknown_options(page: str) -> Iterator[str]:
    """Commands of a page, in blocks or in a line of text, that name a verb or an option surecut does not have."""
    for code in _codes(page):
        for found in _NAMED.finditer(code):
            command = " ".join(found[1].replace("\\\n", " ").split())
            words = shlex.split(command, comments=True)
            verb = next((name for name in (" ".join(words[:2]), words[0] if words else "") if name in VERBS), None)
            if verb is None:
                if words and not words[0].startswith("-") and words not in GROUPS:
                    yield f"surecut {command}"
                continue
            known = {name for option in VERBS[verb].params for name in option.opts} | {"--help", "-h"}
            if any(re.match(r"--?[a-z]", word) and word.split("=")[0] not in known for word in words[1:]):
                yield f"surecut {command}"


def _codes(page: str) -> Iterator[str]:
    """What a page sets as code: fenced blocks, indented lines, and spans within a line or across one line break."""
    yield from (block.text for block in blocks(page))
    text = _FENCED.sub("", page)
    yield from (found[1] for found in _INDENTED.finditer(text))
    yield from (found[1].replace("\n", " ") for found in _INLINE.finditer(text) if "\n\n" not in found[1])
