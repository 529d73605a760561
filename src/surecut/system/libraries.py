"""Versions of the libraries that scores come from: what one version began, another does not go on with."""

from collections.abc import Iterable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from typing import Any


def versions(names: Iterable[str]) -> dict[str, str]:
    """Those of the libraries that are installed."""
    found = {}
    for name in names:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def versions_behind(*stages: Any) -> dict[str, str]:
    """Those that the scores of some stages depend on; one of a user's own need not name any."""
    return versions(sorted({name for stage in stages for name in getattr(stage, "libraries", ())}))
