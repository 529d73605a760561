"""The pages on scale say what the benchmark that writes them says today, but for the figures."""

import re
from pathlib import Path

import pytest
from benchmarks.scale.calibrating import SHAPES, Measured
from benchmarks.scale.capacity import capacity
from benchmarks.scale.faults import Fault
from benchmarks.scale.findings import Findings
from benchmarks.scale.page import page
from benchmarks.scale.scoring import Job, Stages

DOCS = Path(__file__).parents[1] / "docs"
WHAT_VARIES = (r"\d[\d.,e+-]*", "#"), (r"\b(within|beyond)\b", "within"), (r"\b(hours|minutes|seconds)\b", "time")
PATHS = ("read, nothing kept", "read, all kept", "in memory", "in pieces", "Ray")
OTHERS = ("agreement", "check", "10 trials of 4 methods")
FAULTS = (
    "none, on two nodes",
    "one of two nodes killed at half",
    "driver killed at half, called again",
    "disk full early, then room again (no Ray)",
)


@pytest.fixture(scope="module")
def found():
    said = "surecut: scores/t/blocks/block-0000002.parquet: cannot be written (No space left on device)"
    return Findings(
        measured=[Measured(path, *shape, 20.0, 10**9 + shape[0] * 500) for shape in SHAPES for path in PATHS],
        others=[Measured(path, *shape, 30.0, 10**9) for shape in (SHAPES[2], SHAPES[5]) for path in OTHERS],
        job=Job(24_000, 70.0, 80.0, 10**8, 10**9),
        stages=Stages(89_315, 10**7, 3e-4, 3e-3, 384),
        faults=[Fault(what, 90.0, 80.0, True, said if "disk" in what else "") for what in FAULTS],
        bytes_a_row=15.6,
        mean_kept=239.0,
        depth=1_000,
        processors=2,
    )


@pytest.mark.parametrize(("written", "name"), [(page, "scale-measured.md"), (capacity, "capacity.md")])
def test_a_page_is_what_its_benchmark_writes(found, written, name):
    assert _words(written(found)) == _words((DOCS / name).read_text(encoding="utf-8"))


def _words(text):
    lines = []
    for line in text.splitlines():
        for pattern, instead in WHAT_VARIES:
            line = re.sub(pattern, instead, line)
        lines.append(line)
    return lines
