"""Optional libraries, asked for where they are used."""

from importlib import import_module
from typing import Any

from surecut.errors import InputError


class MissingExtra(InputError):
    """A library of an extra is not installed; the message says how to get it."""


def needed(module: str, extra: str) -> Any:
    """An optional library, or the sentence that says how to get it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtra(f"this needs {error.name or module}: pip install 'surecut[{extra}]'") from None
