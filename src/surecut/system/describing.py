"""Stages that travel as their descriptions: whoever receives one makes it anew, with nothing loaded."""

from dataclasses import fields
from typing import Any

from surecut.runners import LOCAL, Runner
from surecut.system.texts import TextStore
from surecut.watching import SILENT, Watch


class Described:
    """A dataclass that is pickled by the arguments it was made with: no index and no network goes into a message."""

    def __reduce__(self) -> tuple[Any, ...]:
        given = {each.name: getattr(self, each.name) for each in fields(self) if each.init}  # type: ignore[arg-type]
        return _made, (type(self), given)

    @property
    def libraries(self) -> tuple[str, ...]:
        """Whose versions the last bits of its scores may depend on, by their names in the package index."""
        return ()

    def prepare(self, documents: TextStore, watch: Watch = SILENT, runner: Runner = LOCAL) -> None:
        """Whatever is done once for all documents, and shared by stages: for most of them nothing."""


def _made(kind: type, given: dict[str, Any]) -> Any:
    return kind(**given)
