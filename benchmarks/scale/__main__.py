"""python -m benchmarks.scale: measure how surecut grows, write docs/scale-measured.md and docs/capacity.md."""

import argparse
import os
import pickle
import tempfile
from pathlib import Path

from rich.console import Console

from benchmarks.scale.capacity import capacity
from benchmarks.scale.figures import figures
from benchmarks.scale.findings import Findings, find
from benchmarks.scale.page import page
from surecut.files import write_atomically

DOCS = Path(__file__).parents[2] / "docs"
KEPT = Path(__file__).parents[2] / "build" / "scale.pickle"


def write(found: Findings, folder: Path) -> None:
    """Both pages, and the figures beside them."""
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    for name, chart in figures(found).items():
        chart.save(folder / "figures" / f"{name}.svg")
    write_atomically(folder / "scale-measured.md", page(found))
    write_atomically(folder / "capacity.md", capacity(found))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--models", type=Path, default=Path(".models"), help="where models are kept")
    parser.add_argument("--words", action="store_true", help="write the pages anew from what the last run here found")
    options = parser.parse_args()
    if not options.words:
        if "SURECUT_DATA" not in os.environ:
            parser.error("SURECUT_DATA is not set: it names the folder of the collections (quora-duplicates.zip, ...)")
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # Ray stays on loopback
        with tempfile.TemporaryDirectory(prefix="surecut-scale-") as place:
            os.environ["SURECUT_CACHE"] = str(Path(place) / "cache")
            found = find(Path(place), options.models)
        KEPT.parent.mkdir(exist_ok=True)
        write_atomically(KEPT, pickle.dumps(found))
    elif not KEPT.exists():
        parser.error(f"{KEPT}: no run was kept; leave out --words")
    write(pickle.loads(KEPT.read_bytes()), DOCS)
    Console(stderr=True, highlight=False).print(f"wrote {DOCS / 'scale-measured.md'} and {DOCS / 'capacity.md'}")


if __name__ == "__main__":
    main()
