"""The certificates that are served, by name: a changed file takes the old one's place whole, or not at all."""

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from surecut.certificate import Certificate
from surecut.errors import InputError
from surecut.integrations.stage import Stage
from surecut.pruner import Pruner
from surecut.rules import KEEP_EVERYTHING

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")

Loader = Callable[[Path], Certificate]


@dataclass(frozen=True)
class Served:
    """A certificate in use, and the file it came from."""

    name: str
    path: Path
    stamp: tuple[int, int, int]
    stage: Stage
    loaded: float
    problem: str | None = None  # why the file as it is now is not the one in use

    @property
    def certificate(self) -> Certificate:
        return self.stage.certificate

    @cached_property
    def digest(self) -> str:
        return self.certificate.digest

    @property
    def problem_in_words(self) -> str | None:
        """The problem, for those who need not know where files lie."""
        return None if self.problem is None else self.problem.replace(str(self.path), self.path.name)

    @property
    def everything(self) -> Pruner:
        """What keeps every candidate, in the retriever's order."""
        return replace(self.certificate.pruner, threshold=KEEP_EVERYTHING, max_keep=None)


class Shelf:
    """Certificates by name. Who reads one has it whole, whatever is reloaded meanwhile."""

    def __init__(
        self, paths: dict[str, Path], load: Loader, *, any_length: bool = False, any_system: bool = False
    ) -> None:
        self._load, self.any_length, self._any_system = load, any_length, any_system
        self._served = {name: self._read(name, path) for name, path in paths.items()}

    def __iter__(self) -> Iterator[Served]:
        return iter(list(self._served.values()))

    def __getitem__(self, name: str) -> Served:
        return self._served[name]

    def __contains__(self, name: object) -> bool:
        return name in self._served

    def reload(self) -> list[Served]:
        """Look at the files again; those that changed, as they are served now."""
        changed = []
        for before in self:
            stamp = _stamp(before.path)
            if stamp == before.stamp and before.problem is None:
                continue
            try:
                found = self._read(before.name, before.path)
            except InputError as error:  # which may pass: it is tried again the next time
                found = replace(before, stamp=stamp, problem=str(error))
            self._served[before.name] = found
            if (found.stamp, found.problem) != (before.stamp, before.problem):
                changed.append(found)
        return changed

    def _read(self, name: str, path: Path) -> Served:
        stamp = _stamp(path)
        try:
            if path.exists() and not path.is_file():  # a pipe would be waited for
                raise InputError(f"{path}: not a file that can be read again and again")
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}") from None
        stage = Stage(self._load(path), finishes=True, any_length=self.any_length, any_system=self._any_system)
        warm = -np.arange(min(stage.certificate.depth, 64), dtype=np.float32)
        stage.certificate.keep(warm, any_length=True, any_system=True)  # loads the compiled code
        return Served(name, path, stamp, stage, time.time())


def named(places: Iterable[str]) -> dict[str, Path]:
    """Certificates by name from `cert.json` or `name=cert.json`."""
    found: dict[str, Path] = {}
    for place in places:
        name, given, rest = place.partition("=")
        path = Path(rest if given and not os.path.exists(place) else place)
        name = name if str(path) == rest else path.stem
        if given and path.name == "":
            raise InputError(f"'{place}' names no file: write it like name=cert.json")
        if not _NAME.fullmatch(name):
            raise InputError(
                f"'{name}' is no name for a certificate: use letters, digits, '.', '_' and '-' (name=FILE)"
            )
        if name in found:
            raise InputError(f"two certificates are named '{name}': give one another name, like other={path}")
        found[name] = path
    return found


def _stamp(path: Path) -> tuple[int, int, int]:
    """What changes when a file does."""
    try:
        found = path.stat()
    except OSError:
        return 0, 0, 0
    return found.st_mtime_ns, found.st_size, found.st_ino
