"""The one way surecut compiles: cached on disk, without the GIL, strict IEEE arithmetic (never fastmath)."""

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile a loop on first call and keep the machine code for later runs, if there is a place for it."""
    try:
        return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy")(function))
    except RuntimeError:  # neither the package's folder nor the user's cache can be written to
        _warn_once()
        return cast(F, numba.njit(nogil=True, error_model="numpy")(function))


@cache
def _warn_once() -> None:
    warnings.warn(
        "compiled code cannot be kept, so every run compiles it anew: name a folder for it that only you can write to "
        "(NUMBA_CACHE_DIR)",
        stacklevel=1,
    )
