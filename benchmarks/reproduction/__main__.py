"""python -m benchmarks.reproduction: run the experiments, write docs/reproduction.md and its figures."""

import argparse
import pickle
import time
from pathlib import Path

from rich.console import Console

from benchmarks.reproduction.findings import Findings, Scale, find
from benchmarks.reproduction.page import FIGURES, figures_of, page
from surecut.cli.watching import watching
from surecut.files import write_atomically

DOCS = Path(__file__).parents[2] / "docs"
KEPT = Path(__file__).parents[2] / "build" / "reproduction.pickle"
PAGE = "reproduction.md"


def write(found: Findings, folder: Path) -> None:
    """The page, and its figures beside it."""
    figures = figures_of(found)
    (folder / FIGURES).mkdir(parents=True, exist_ok=True)
    for figure in figures:
        figure.chart.save(folder / FIGURES / f"{figure.name}.svg")
    write_atomically(folder / PAGE, page(found, figures))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reproduction", description=__doc__)
    parser.add_argument("--words", action="store_true", help="write the page anew from what the last run here found")
    console, begun = Console(stderr=True, highlight=False), time.monotonic()
    if not parser.parse_args().words:
        with watching() as watch:
            KEPT.parent.mkdir(exist_ok=True)
            write_atomically(KEPT, pickle.dumps(find(Scale(), watch)))
    elif not KEPT.exists():
        parser.error(f"{KEPT}: no run was kept; leave out --words")
    write(pickle.loads(KEPT.read_bytes()), DOCS)
    console.print(f"wrote {DOCS / PAGE} in {(time.monotonic() - begun) / 60:.0f} minutes")


if __name__ == "__main__":
    main()
