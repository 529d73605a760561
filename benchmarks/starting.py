"""Importing, and the first run ever, which compiles the kernels that later runs find cached."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.result import Result
from benchmarks.systems import Files, write_files
from benchmarks.timing import run_command

MAX_TIMES_NUMPY = 3
MAX_COMPILE_SECONDS = 15.0
IMPORTS = 7  # the fastest counts
_EVERY_NAME = "import surecut; [getattr(surecut, name) for name in surecut.__all__]"


def run() -> Iterator[Result]:
    programs = ("import surecut", _EVERY_NAME, "import numpy")
    times = [[run_command(["-c", program]).seconds for program in programs] for _ in range(IMPORTS)]
    ours, names, numpy = map(min, zip(*times, strict=True))
    yield Result("import surecut", ours, "import numpy", numpy, "slower", MAX_TIMES_NUMPY)
    yield Result("import surecut, every public name used", names, "import numpy", numpy, "informative")
    with tempfile.TemporaryDirectory() as folder:
        files = write_files(Path(folder, "small"), queries=300, depth=50)
        yield from _compiling(files, Path(folder, "kernels"))


def _compiling(files: Files, cache: Path) -> Iterator[Result]:
    def command() -> float:
        return run_command(words, {"NUMBA_CACHE_DIR": str(cache)}).seconds

    words = ["-m", "surecut", "calibrate", *files.options(), "--max-drop", "20%"]
    first = command()
    compiled = _cached(cache)
    later = min(command() for _ in range(3))
    added = len(_cached(cache) - compiled)
    yield Result("first run ever, over a later one", first - later, "15 s", MAX_COMPILE_SECONDS, "slower", 1)
    yield Result("a later run", later, "the first run ever", first, "informative")
    cached = len(compiled)
    yield Result("compiled by later runs", added, "compiled by the first run", cached, "slower", 0, unit="kernels")


def _cached(cache: Path) -> set[tuple[str, int]]:
    return {(path.name, path.stat().st_mtime_ns) for path in cache.rglob("*.nbc")}
