"""surecut check"""

import math
from collections.abc import Callable

import typer

from surecut.cli import options as o
from surecut.cli.values import chosen_runner

HELP = """Test a certificate's claim on queries it has not seen.

The lists are pruned, reranked and evaluated twice, by surecut and by ir-measures (20,000 of them, if there are more).
Exit status: 0 nothing speaks against the claim, 1 the data contradict it, 70 the two evaluators disagree.

Example: surecut check cert.json --retriever bm25.heldout.run --reranker mono.heldout.run --qrels qrels.txt
"""


def check(
    certificate: o.CertificatePath,
    retriever: o.Retriever = None,
    reranker: o.Reranker = None,
    qrels: o.Qrels = None,
    table: o.Table = None,
    depth: o.Depth = None,
    missing_reranker: o.MissingReranker = "error",
    absent: o.Absent = "skip",
    groups: o.Groups = None,
    any_system: o.AnySystem = False,
    any_length: o.AnyLength = False,
    runner: o.RunnerName = "local",
    address: o.Address = None,
    json: o.Json = False,
) -> None:
    from rich.table import Table
    from rich.text import Text

    from surecut import checking
    from surecut.cli.loading import groups_in, load, open_data, refuse_two_pipes
    from surecut.cli.printing import err, out, print_json
    from surecut.cli.watching import watching
    from surecut.targets import claimed_quantity

    refuse_two_pipes(certificate, retriever, reranker, qrels)
    loaded = load(certificate)
    runs_on = chosen_runner(runner, address)
    reading = {"depth": depth, "missing_reranker": missing_reranker, "absent": absent, "groups": groups_in(groups)}
    with watching() as watch:
        on = {"runner": runs_on, "watch": watch}
        data = open_data(retriever, reranker, qrels, table, **reading, **on)  # type: ignore[arg-type]
        watch.stage("checking")
        found = checking.check(loaded, data, any_system=any_system, any_length=any_length)
    if json:
        print_json(found.to_dict())
    else:
        unit, shown = claimed_quantity(str(loaded.target["kind"]))
        rows = Table.grid(padding=(0, 2))
        rows.add_row("claimed", Text(loaded.statement))
        rows.add_row(
            "found",
            f"{unit}{shown(found.estimate)}, 90% interval {_between(*found.interval, shown)} "
            f"(claimed: {shown(found.claimed)}), {found.queries:,} queries",
        )
        rows.add_row(
            Text(loaded.measure), f"{found.mean_full:.4f} with everything reranked, {found.mean_pruned:.4f} pruned"
        )
        tail = found.kept_quantiles
        rows.add_row(
            "kept",
            f"{found.mean_kept:,.1f} of {found.mean_candidates:,.1f} on average   "
            f"p50 {tail['p50']:,}   p95 {tail['p95']:,}   p99 {tail['p99']:,}",
        )
        some = f" on {found.judged_lists:,} of the lists" if found.judged_lists < found.queries else ""
        judge = (
            "no counterpart in ir-measures"
            if found.judge_difference is None
            else f"ir-measures agrees{some} (largest difference {found.judge_difference:.1e})"
        )
        rows.add_row("judge", judge)
        verdict = (
            "[red]contradicted[/] by these queries"
            if found.contradicted
            else "[green]not contradicted[/] by these queries"
        )
        if loaded.status == "abstained":
            verdict = "nothing was claimed, nothing is pruned"
        rows.add_row("claim", verdict)
        out.print(rows)
        if found.same_data:
            err.print("these are the calibration queries themselves: no independent check", style="yellow")
    raise typer.Exit(1 if found.contradicted else 0)


def _between(low: float, high: float, shown: Callable[[float], str]) -> str:
    return f"{shown(low)} to {shown(high)}" if math.isfinite(low) else f"up to {shown(high)}"
