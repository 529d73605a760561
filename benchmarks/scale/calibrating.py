"""Calibrating on score tables of growing size: in memory, in pieces, by Ray, and beside merely reading them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.scale.processes import cost
from benchmarks.scale.tables import simulated_table

SHAPES = ((1_000, 1_000), (10_000, 1_000), (100_000, 1_000), (10_000, 100), (100_000, 100), (1_000_000, 100))
"""Queries and candidates of each."""

READING = """
import sys, polars as pl
pl.scan_parquet(sys.argv[1] + "/candidates/*.parquet").sink_batches(lambda frame: None, lazy=True).collect(
    engine="streaming"
)
"""
_COLLECTING = """
import sys, polars as pl
pl.scan_parquet(sys.argv[1] + "/candidates/*.parquet").collect(engine="streaming")
"""
_IN_MEMORY = """
import sys, surecut as sc
sc.calibrate(sc.read_table(sys.argv[1])).save(sys.argv[2])
"""
_ROUNDS = 3
_LARGE = 10**8  # rows that are gone through fewer times


@dataclass(frozen=True)
class Measured:
    """One path over one table: the least time of a few rounds, and the most memory."""

    path: str
    queries: int
    depth: int
    seconds: float
    peak_bytes: int

    @property
    def rows(self) -> int:
        return self.queries * self.depth

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def measure(root: Path, shapes: Iterable[tuple[int, int]] = SHAPES) -> Iterator[Measured]:
    """Every path over every table; whatever makes a certificate must make the same one."""
    for queries, depth in shapes:
        table = simulated_table(root, queries, depth)
        found: dict[str, list[tuple[float, int]]] = {}
        for _ in range(2 if queries * depth >= _LARGE else _ROUNDS):
            for path, command in _paths(table, root).items():
                spent = cost(command)
                found.setdefault(path, []).append((spent.seconds, spent.peak_bytes))
        _keep_certificate(root, table)
        for path, rounds in found.items():
            yield Measured(path, queries, depth, min(s for s, _ in rounds), max(peak for _, peak in rounds))


def _paths(table: Path, root: Path) -> Mapping[str, list[object]]:
    calibrating = ["-m", "surecut", "calibrate", "--table", table, "-o"]
    return {
        "read, nothing kept": ["-c", READING, table],
        "read, all kept": ["-c", _COLLECTING, table],
        "in memory": ["-c", _IN_MEMORY, table, root / "memory.json"],
        "in pieces": [*calibrating, root / "pieces.json"],
        "Ray": [*calibrating, root / "ray.json", "--runner", "ray"],
    }


def measure_others(root: Path, shapes: Iterable[tuple[int, int]]) -> Iterator[Measured]:
    """What else goes through a table in pieces, over tables of which the certificates are there."""
    for queries, depth in shapes:
        table = simulated_table(root, queries, depth)
        surecut, given = ["-m", "surecut"], ["--table", table]
        for path, command in {
            "agreement": [*surecut, "calibrate", *given, "--agreement", "0.5@10", "-o", root / "agreement.json"],
            "check": [*surecut, "check", table.with_suffix(".json"), *given],
            "10 trials of 4 methods": [*surecut, "trials", *given, "--trials", "10", "-o", root / "trials.md"],
        }.items():
            spent = cost(command)
            yield Measured(path, queries, depth, spent.seconds, spent.peak_bytes)


def _keep_certificate(root: Path, table: Path) -> None:
    """Beside the table, once it is clear that all paths led to the same one."""
    found = {(root / f"{name}.json").read_bytes() for name in ("memory", "pieces", "ray")}
    if len(found) != 1:
        raise RuntimeError("the three paths led to different certificates")
    table.with_suffix(".json").write_bytes(found.pop())
