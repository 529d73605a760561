"""Faults in the middle of a scoring job: a node is killed, the driver is killed and called again, the disk is full."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.scale.scoring import RECIPE, tables_differ

PATIENCE = 900.0  # seconds
_SMALL_DISK, _LARGER_DISK = "24k", "64m"


@dataclass(frozen=True)
class Fault:
    """What was done, how long it took beside an undisturbed run, and whether the table is the same."""

    what: str
    seconds: float
    undisturbed: float
    same: bool
    said: str = ""


@contextmanager
def cluster() -> Iterator[Any]:
    """A head that computes nothing, and two nodes with a processor each."""
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 0, "node_ip_address": "127.0.0.1", "include_dashboard": False}
    started = Cluster(initialize_head=True, head_node_args=head)
    started.nodes = [started.add_node(num_cpus=1, node_ip_address="127.0.0.1") for _ in range(2)]
    try:
        yield started
    finally:
        started.shutdown()


def measure(root: Path, whole: Path, plain: float) -> Iterator[Fault]:
    """Every fault once; `whole` is the table that the job leads to, in `plain` seconds without Ray."""
    undisturbed = _timed(root / "undisturbed", _nothing)
    yield Fault("none, on two nodes", undisturbed, undisturbed, not tables_differ(root / "undisturbed", whole))
    killed = _timed(root / "node", _kill_node)
    yield Fault("one of two nodes killed at half", killed, undisturbed, not tables_differ(root / "node", whole))
    driver = _timed(root / "driver", _kill_driver, twice=True)
    yield Fault("driver killed at half, called again", driver, undisturbed, not tables_differ(root / "driver", whole))
    if os.getuid() == 0:
        yield _full_disk(root / "disk", whole, plain)


def _timed(folder: Path, disturb: Callable[[Any, Any], None], twice: bool = False) -> float:
    with cluster() as nodes:
        start = time.perf_counter()
        process = _started(folder, nodes.address)
        _wait_for_half(process, folder)
        disturb(process, nodes)
        process.communicate(timeout=PATIENCE)
        if twice:
            process = _started(folder, nodes.address)
            process.communicate(timeout=PATIENCE)
        if process.returncode != 0:
            raise RuntimeError(f"surecut score ended with status {process.returncode}")
        return time.perf_counter() - start


def _nothing(process: Any, nodes: Any) -> None: ...


def _kill_node(process: Any, nodes: Any) -> None:
    nodes.remove_node(nodes.nodes[1], allow_graceful=False)


def _kill_driver(process: Any, nodes: Any) -> None:
    process.send_signal(signal.SIGKILL)


def _started(folder: Path, address: str | None = None) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "surecut", "score", str(RECIPE), "-o", str(folder)]
    command += [] if address is None else ["--runner", "ray", "--address", address]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def _wait_for_half(process: Any, folder: Path) -> None:
    """Until half of the blocks are there: of 240 queries, five a block."""
    until = time.monotonic() + PATIENCE
    while len(list((folder / "blocks").glob("*.parquet"))) < 24:
        if process.poll() is not None or time.monotonic() > until:
            raise RuntimeError(f"surecut score ended before it was disturbed: {process.communicate()[1]}")
        time.sleep(0.1)


def _full_disk(folder: Path, whole: Path, undisturbed: float) -> Fault:
    """A disk of its own that is too small, then larger; only the system's administrator may do that."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={_SMALL_DISK}", "tmpfs", str(folder)], check=True)
    try:
        start = time.perf_counter()
        process = _started(folder / "t")
        said = process.communicate(timeout=PATIENCE)[1].strip().splitlines()
        if process.returncode != 2:
            raise RuntimeError(f"a full disk led to status {process.returncode}")
        subprocess.run(["mount", "-o", f"remount,size={_LARGER_DISK}", str(folder)], check=True)
        process = _started(folder / "t")
        process.communicate(timeout=PATIENCE)
        seconds = time.perf_counter() - start
        same = process.returncode == 0 and not tables_differ(folder / "t", whole)
        said_last = said[-1].replace(str(folder), "scores") if said else ""
        return Fault("disk full early, then room again (no Ray)", seconds, undisturbed, same, said_last)
    finally:
        subprocess.run(["umount", str(folder)], check=True)
