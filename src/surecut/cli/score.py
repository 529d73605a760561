"""surecut score"""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from surecut.cli import options as o
from surecut.cli.values import chosen_runner

if TYPE_CHECKING:
    from surecut.system.isolating import Failure

HELP = """Run a two-stage system over a collection: every query's candidates, scored by both stages, as a score table.

Example: surecut score recipes/scifact/bm25-minilm.toml -o scores/scifact

Stopped in the middle, the same command goes on where it was.

On a cluster: surecut score recipe.toml -o scores/mine --runner ray --address auto
"""

_SHOWN = 20  # queries with what failed, or reasons why documents did, that are printed


def score(
    recipe: o.RecipePath,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="The score table (scores/RECIPE if not given)."),
    ] = None,
    runner: o.RunnerName = "local",
    address: o.Address = None,
    workers: o.Workers = None,
    cpus: o.Cpus = 1.0,
    gpus: o.Gpus = 0.0,
    json: o.Json = False,
) -> None:
    from rich.markup import escape

    from surecut.cli.printing import err, out, print_json
    from surecut.cli.watching import watching
    from surecut.folding import FEWEST
    from surecut.io.table import read_meta
    from surecut.system.recipe import read_recipe
    from surecut.system.scoring import score as fill

    runs_on = chosen_runner(runner, address, workers, cpus, gpus)
    system = read_recipe(recipe)
    folder = output or Path("scores") / recipe.stem
    try:
        with watching() as watch:
            report = fill(system, folder, watch, runs_on)
    except KeyboardInterrupt:
        err.print("what is scored is kept: the same command goes on where it was", style="dim")
        raise
    meta = read_meta(folder)
    if json:
        print_json({"table": str(folder), **meta, "failures": [each.to_json() for each in report.failures]})
        return
    counts = f"{meta['queries']:,} queries, {meta['documents']:,} documents"
    out.print(f"[bold]{escape(meta['name'])}[/]: {counts}, in {escape(str(folder))}", soft_wrap=True)
    for note in (*_left_out(meta), *report.notes):
        err.print(note, style="dim", soft_wrap=True)
    _print_failures(report.failures)
    if meta["quality"]:
        print_quality(meta["quality"])
        target = ""
    else:
        err.print(f"no measure is reported: fewer than {FEWEST} judged queries, or nothing relevant", style="dim")
        target = " --agreement 0.95@10"
    lowest = " --missing-reranker lowest" if any(each.query_id and each.doc_id for each in report.failures) else ""
    out.print(f"Next: surecut calibrate --table {escape(str(folder))}{target}{lowest} -o cert.json", soft_wrap=True)


def _left_out(meta: dict[str, Any]) -> list[str]:
    """Queries that the table does not have."""
    notes = []
    if meta["queries_without_candidates"]:
        notes.append(f"{meta['queries_without_candidates']:,} queries retrieved nothing and are not in the table")
    if meta["judged_queries_without_text"]:
        notes.append(f"{meta['judged_queries_without_text']:,} judged queries are not in the collection")
    return notes


def _print_failures(failures: "Sequence[Failure]") -> None:
    """What no score could be computed for, by id."""
    from rich.markup import escape

    from surecut.cli.printing import err

    alike: dict[tuple[str | None, str], list[Failure]] = {}
    for each in failures:
        alike.setdefault((each.query_id, each.reason), []).append(each)
    for first, *others in islice(alike.values(), _SHOWN):
        more = f" (and {len(others):,} other documents)" if others else ""
        err.print(f"[yellow]failed:[/] {escape(str(first))}{more}", soft_wrap=True)
    if len(alike) > _SHOWN:
        err.print(f"... and {len(alike) - _SHOWN:,} others", style="yellow")
    if failures:
        err.print(
            "all of them are in the table's *.failed.json; pairs that failed have no reranker score: calibrate with "
            "--missing-reranker lowest, or mend the cause, remove the part that a failed.json stands beside, and run "
            "the same command again (documents that could not be encoded are tried again once their folder in the "
            "cache is removed)",
            style="dim",
            soft_wrap=True,
        )


def print_quality(quality: dict[str, Any]) -> None:
    """Retriever, reranker and fused, one line each."""
    from rich.table import Table

    from surecut.cli.printing import out

    table = Table("", quality["measure"], "", box=None, pad_edge=False)
    table.add_row("retriever", f"{quality['retriever']:.4f}", f"{quality['queries']:,} judged queries")
    table.add_row("reranker", f"{quality['reranker']:.4f}")
    origin = f", from {quality['tuned_on']:,} other queries" if quality["tuned_on"] else ""
    table.add_row("fused", f"{quality['fused']:.4f}", f"weight {quality['beta']:.4g}{origin}")
    out.print(table)
