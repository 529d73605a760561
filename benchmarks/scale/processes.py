"""What a command takes in time and memory, with all the processes it starts."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_BETWEEN_LOOKS = 0.1  # seconds


@dataclass(frozen=True)
class Cost:
    """A command that has ended well."""

    seconds: float
    peak_bytes: int


def cost(arguments: Sequence[object], environment: Mapping[str, str] | None = None) -> Cost:
    """Run a Python command (what follows `python`) to its end; the memory is that of all its processes together."""
    command = [sys.executable, *(str(each) for each in arguments)]
    start, peak = time.perf_counter(), 0
    with subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(environment or {})},
    ) as process:
        while _still_running(process):
            peak = max(peak, memory_of(process.pid))
        seconds = time.perf_counter() - start
        errors = process.stderr.read() if process.stderr is not None else ""
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with status {process.returncode}: {errors.strip()}")
    return Cost(seconds, peak)


def _still_running(process: "subprocess.Popen[str]") -> bool:
    try:
        process.wait(_BETWEEN_LOOKS)
    except subprocess.TimeoutExpired:
        return True
    return False


def memory_of(root: int) -> int:
    """Bytes of a process and all below it; what several share is shared out among them."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue  # it has ended
        children.setdefault(parent, []).append(int(path.name))
    total, waiting = 0, [root]
    while waiting:
        process = waiting.pop()
        total += _own_memory(process)
        waiting += children.get(process, [])
    return total


def _own_memory(process: int) -> int:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return 1024 * next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)
