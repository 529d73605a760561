"""python -m benchmarks.real [NAME ...]: fetch the models, run the recipes, ship compact tables, write the page."""

import argparse
import os
from pathlib import Path

from rich.console import Console

from benchmarks.real import again, encoding, findings, models, shipping
from benchmarks.real.page import page
from benchmarks.real.systems import SYSTEMS, System
from surecut.cli.watching import watching
from surecut.files import write_atomically
from surecut.system.recipe import read_recipe
from surecut.system.scoring import score

PAGE = Path(__file__).parents[2] / "docs" / "real-systems.md"

console = Console(stderr=True, highlight=False)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.real", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"systems: {', '.join(each.name for each in SYSTEMS)}")
    parser.add_argument("--models", type=Path, default=Path(".models"), help="where models are kept")
    parser.add_argument("--scores", type=Path, default=Path("scores"), help="where score tables are kept")
    options = parser.parse_args()
    if "SURECUT_DATA" not in os.environ:
        parser.error("SURECUT_DATA is not set: it names the folder of the collections (quora-duplicates.zip, ...)")
    models.fetch(options.models)
    os.environ["SURECUT_MODELS"] = str(options.models.resolve())
    chosen = [each for each in SYSTEMS if not options.names or each.name in options.names]
    for system in chosen:
        fill(system, options.scores / system.name)
    if not options.names:
        found = [findings.find(system, options.scores / system.name) for system in SYSTEMS]
        compared = [again.compare(system) for system in SYSTEMS]
        write_atomically(PAGE, page(found, compared, encoder_rates(options.models)))
        console.print(f"wrote {PAGE}")


def fill(system: System, table: Path) -> None:
    console.print(system.name)
    with watching() as watch:
        score(read_recipe(system.path), table, watch)
    console.print(f"  shipped in {shipping.ship(system, table):,} bytes", style="dim")


def encoder_rates(folder: Path) -> list[encoding.Rates]:
    """Short texts and long ones."""
    rates = []
    for what, recipe, count in (("questions", SYSTEMS[0], 1000), ("abstracts", SYSTEMS[2], 100)):
        texts = read_recipe(recipe.path).collection.documents.texts.take(range(count))
        if (rate := encoding.compare(folder, what, texts)) is not None:
            rates.append(rate)
    return rates


if __name__ == "__main__":
    main()
