"""surecut speedup"""

from typing import Annotated, Any

import typer

from surecut.cli import options as o

HELP = """Measure on the clock what a certificate saves: full against pruned reranking of the same queries.

Example: surecut speedup cert.json recipes/scifact/bm25-minilm.toml --queries 50
"""


def speedup(
    certificate: o.CertificatePath,
    recipe: o.RecipePath,
    queries: Annotated[
        int, typer.Option("--queries", metavar="N", min=1, help="How many of the recipe's queries to time.")
    ] = 50,
    any_system: o.AnySystem = False,
    json: o.Json = False,
) -> None:
    from surecut.cli.loading import load
    from surecut.cli.printing import err, print_json
    from surecut.cli.watching import watching
    from surecut.system.ranker import Ranker
    from surecut.system.speedup import measure_speedup

    with watching() as watch:
        ranker = Ranker(load(certificate), recipe, any_system=any_system, watch=watch)
        found = measure_speedup(ranker, ranker.recipe.collection.queries[:queries], watch).to_dict()
    for note in ranker.notes:
        err.print(f"[yellow]warning:[/] {note}", soft_wrap=True)
    if json:
        print_json(found)
    else:
        _print(found)


def _print(found: dict[str, Any]) -> None:
    from rich.table import Table

    from surecut.cli.printing import out

    names = {"retrieve": "retrieving", "prune": "pruning", "full": "reranking all", "pruned": "reranking survivors"}
    table = Table("milliseconds", "a query", "median", "95th percentile", "in total", box=None, pad_edge=False)
    for step, name in names.items():
        times = found["milliseconds"][step]
        table.add_row(name, *(f"{times[key]:,.2f}" for key in ("mean", "p50", "p95")), f"{times['total']:,.0f}")
    out.print(
        f"[bold]reranking {found['reranking_ratio']:.1f} x faster[/], {found['end_to_end_ratio']:.1f} x with retrieval "
        f"({found['queries']:,} queries; {found['mean_kept']:,.1f} of {found['mean_candidates']:,.1f} candidates kept, "
        f"{found['candidates_ratio']:.1f} x fewer)",
        soft_wrap=True,
    )
    out.print(table)
    if found["pruning_share_of_saved"] is None:
        pruned = found["mean_kept"] < found["mean_candidates"]
        reason = "fewer pairs took no less time" if pruned else "the certificate prunes nothing here"
        out.print(f"nothing was saved: {reason}")
    else:
        out.print(f"pruning takes {found['pruning_share_of_saved']:.4%} of the time it saves")
    if found["quality_full"] is not None:
        out.print(
            f"{found['measure']}  {found['quality_full']:.4f} with everything reranked, "
            f"{found['quality_pruned']:.4f} pruned ({found['measured_queries']:,} judged queries)"
        )
        out.print("(the claim's own test is surecut check, on queries that took no part in calibration)", style="dim")
