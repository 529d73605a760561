"""The one way surecut compiles: cached on disk, without the GIL, strict IEEE arithmetic (never fastmath)."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile a loop on first call and keep the machine code for later runs."""
    return cast(F, numba.njit(cache=True, nogil=True, error_model="numpy")(function))
