"""Everything that was measured, as the pages need it."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from benchmarks.real.models import fetch
from benchmarks.scale import calibrating, faults, scoring
from benchmarks.scale.calibrating import SHAPES, Measured
from benchmarks.scale.faults import Fault
from benchmarks.scale.scoring import Job, Stages
from benchmarks.scale.tables import simulated_table
from surecut import load_certificate
from surecut.runners.threads import cores
from surecut.system.cache import cache_folder

RERANKER, ENCODER = "ms-marco-MiniLM-L-12-v2", "bge-small-en-v1.5"


@dataclass(frozen=True)
class Findings:
    """One run on one machine."""

    measured: Sequence[Measured]
    others: Sequence[Measured]  # other verbs, over the largest tables
    job: Job
    stages: Stages
    faults: Sequence[Fault]
    bytes_a_row: float  # of a score table
    mean_kept: float  # of the largest table of deep lists, at a drop of at most 1%
    depth: int
    processors: int

    def of(self, path: str, queries: int, depth: int) -> Measured:
        return next(each for each in self.measured if (each.path, each.queries, each.depth) == (path, queries, depth))

    @property
    def largest(self) -> tuple[tuple[int, int], ...]:
        """The largest table of each depth."""
        depths = sorted({each.depth for each in self.measured}, reverse=True)
        return tuple((max(each.queries for each in self.measured if each.depth == depth), depth) for depth in depths)


def find(root: Path, models: Path, shapes: Sequence[tuple[int, int]] = SHAPES) -> Findings:
    """Run it all: tables are made in `root` and left there."""
    console = Console(stderr=True, highlight=False)
    fetch(models, [RERANKER, ENCODER])
    os.environ["SURECUT_MODELS"] = str(models.resolve())
    measured = []
    for each in calibrating.measure(root / "tables", shapes):
        console.print(f"{each.queries:,} x {each.depth:,}, {each.path}: {each.seconds:.2f} s", style="dim")
        measured.append(each)
    deepest = sorted({depth for _, depth in shapes}, reverse=True)
    largest = [(max(queries for queries, depth in shapes if depth == each), each) for each in deepest]
    others = []
    for each in calibrating.measure_others(root / "tables", largest):
        console.print(f"{each.queries:,} x {each.depth:,}, {each.path}: {each.seconds:.2f} s", style="dim")
        others.append(each)
    scores = root / "scores"
    job = scoring.run_job(scores)
    console.print(
        f"scoring {job.pairs:,} pairs: {job.local_seconds:.0f} s, by Ray {job.ray_seconds:.0f} s", style="dim"
    )
    disturbed = []
    for fault in faults.measure(scores, scores / "local", job.local_seconds):
        console.print(
            f"{fault.what}: {fault.seconds:.0f} s, {'the same' if fault.same else 'ANOTHER'} table", style="dim"
        )
        disturbed.append(fault)
    deep = max(shapes, key=lambda shape: (shape[1], shape[0]))
    table = simulated_table(root / "tables", *deep)
    size = sum(path.stat().st_size for path in table.rglob("*.parquet"))
    certificate = load_certificate(root / "tables" / f"{deep[0]}x{deep[1]}.json")
    return Findings(
        measured=measured,
        others=others,
        job=job,
        stages=scoring.measure_stages(models / ENCODER, cache_folder()),
        faults=disturbed,
        bytes_a_row=size / (deep[0] * deep[1]),
        mean_kept=certificate.mean_kept,
        depth=deep[1],
        processors=cores(),
    )
