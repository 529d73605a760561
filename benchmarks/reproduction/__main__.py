"""python -m benchmarks.reproduction: run the experiments, write docs/reproduction.md and its figures."""

import argparse
import time
from pathlib import Path

from rich.console import Console

from benchmarks.reproduction.findings import Findings, Scale, find
from benchmarks.reproduction.page import FIGURES, figures_of, page
from surecut.cli.watching import watching
from surecut.files import write_atomically

DOCS = Path(__file__).parents[2] / "docs"
PAGE = "reproduction.md"


def write(found: Findings, folder: Path) -> None:
    """The page, and its figures beside it."""
    figures = figures_of(found)
    (folder / FIGURES).mkdir(parents=True, exist_ok=True)
    for figure in figures:
        figure.chart.save(folder / FIGURES / f"{figure.name}.svg")
    write_atomically(folder / PAGE, page(found, figures))


def main() -> None:
    argparse.ArgumentParser(prog="python -m benchmarks.reproduction", description=__doc__).parse_args()
    console, begun = Console(stderr=True, highlight=False), time.monotonic()
    with watching() as watch:
        found = find(Scale(), watch)
    write(found, DOCS)
    console.print(f"wrote {DOCS / PAGE} in {(time.monotonic() - begun) / 60:.0f} minutes")


if __name__ == "__main__":
    main()
