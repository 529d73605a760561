"""Optional libraries, asked for where they are used."""

from importlib import import_module
from typing import Any

from surecut.errors import InputError


def needed(module: str, extra: str) -> Any:
    """An optional library, or the sentence that says how to get it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise InputError(f"this needs {error.name or module}: pip install 'surecut[{extra}]'") from None
