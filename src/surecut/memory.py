"""How much memory can still be had, so that data that cannot fit are refused before they are read."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from surecut.errors import InputError

_GB = 1e9
_SYSTEM = Path("/proc/meminfo")
_PROCESS = Path("/proc/self/statm")
_GROUPS = Path("/sys/fs/cgroup")


def refuse_beyond_memory(needed: int, name: object) -> None:
    """Refuse what cannot fit: `needed` bytes are the least that reading it takes."""
    free = available()
    if free is not None and needed > free:
        raise InputError(
            f"{name}: takes at least {needed / _GB:,.1f} GB of memory, and {free / _GB:,.1f} GB are free: give fewer "
            "queries or shorter lists"
        )


def available() -> int | None:
    """Bytes that the system, a container's limit and the process's own limit leave; None where nobody says."""
    return min(_limits(), default=None)


def _limits() -> Iterator[int]:
    for left in (_left_by_system, _left_in_container, _left_to_process):
        with suppress(OSError, ValueError, KeyError, ImportError, AttributeError):  # not on this system
            yield max(left(), 0)


def _left_by_system() -> int:
    if _SYSTEM.exists():
        lines = (line.split() for line in _SYSTEM.read_text().splitlines())
        return 1024 * {words[0]: int(words[1]) for words in lines}["MemAvailable:"]
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _left_in_container() -> int:
    """Pages of files count as used there, but are given back when they are needed."""
    facts = (line.split() for line in (_GROUPS / "memory.stat").read_text().splitlines())
    given_back = {words[0]: int(words[1]) for words in facts}["inactive_file"]
    used = int((_GROUPS / "memory.current").read_text()) - given_back
    return int((_GROUPS / "memory.max").read_text()) - used


def _left_to_process() -> int:
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        raise ValueError("no limit")
    return limit - int(_PROCESS.read_text().split()[0]) * resource.getpagesize()
