"""Stages that travel as their descriptions: whoever receives one makes it anew, with nothing loaded."""

from dataclasses import fields
from typing import Any


class Described:
    """A dataclass that is pickled by the arguments it was made with: no index and no network goes into a message."""

    def __reduce__(self) -> tuple[Any, ...]:
        given = {each.name: getattr(self, each.name) for each in fields(self) if each.init}  # type: ignore[arg-type]
        return _made, (type(self), given)


def _made(kind: type, given: dict[str, Any]) -> Any:
    return kind(**given)
