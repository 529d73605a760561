"""python -m benchmarks [NAME ...] [--json FILE] [--strict]"""

import argparse
import json
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import arrays, files, linear, published, repeating, searching, serving, starting
from benchmarks.result import Result

BENCHMARKS = {
    "arrays": arrays,
    "published": published,
    "files": files,
    "linear": linear,
    "repeating": repeating,
    "searching": searching,
    "serving": serving,
    "starting": starting,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Speed as ratios, in one run, warm.")
    named = "; ".join(f"{name}: {(module.__doc__ or '').splitlines()[0]}" for name, module in BENCHMARKS.items())
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which to run (all). {named}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results here too")
    parser.add_argument("--strict", action="store_true", help="exit with status 1 when anything is over its limit")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark '{unknown[0]}': choose from {', '.join(BENCHMARKS)}")
    results = run_all(options.names or list(BENCHMARKS))
    Console(width=None if Console().is_terminal else 200).print(as_table(results))
    if options.json is not None:
        options.json.write_text(json.dumps([result.to_json() for result in results], indent=2) + "\n")
    return int(options.strict and not all(result.ok for result in results))


def run_all(names: list[str]) -> list[Result]:
    console = Console(stderr=True)
    results = []
    for name in names:
        with console.status(f"{name} ..."):
            results += BENCHMARKS[name].run()
        console.print(f"{name}: done", style="dim")
    return results


def as_table(results: list[Result]) -> Table:
    table = Table()
    for heading in ("what", "time", "compared with", "its time", "ratio", "limit", ""):
        table.add_column(heading, justify="right" if heading in ("time", "its time", "ratio") else "left")
    for result in results:
        table.add_row(*result.cells(), style="red" if not result.ok else None)
    return table


if __name__ == "__main__":
    raise SystemExit(main())
