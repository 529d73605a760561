"""surecut demo"""

from typing import Annotated

import typer

HELP = """Calibrate, check and compare on a simulated two-stage system: offline, in seconds.

Example: surecut demo
"""


def demo(
    queries: Annotated[int, typer.Option("--queries", metavar="N", help="Queries to simulate.")] = 6000,
    depth: Annotated[int, typer.Option("--depth", metavar="N", help="Candidates a query.")] = 1000,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the simulation.")] = 0,
) -> None:
    from rich.table import Table

    from surecut.calibration import calibrate
    from surecut.checking import check
    from surecut.cli.loading import working
    from surecut.cli.printing import out, print_certificate
    from surecut.simulation import SYSTEMS, simulate
    from surecut.targets import max_drop

    system = SYSTEMS["dense-electra"]
    out.print(f"A [bold]simulated[/] two-stage system ({system.sentence}): {queries:,} queries x {depth:,} candidates.")
    with working("simulating"):
        calibration, held_out = simulate(system, queries, depth, seed).split((0.5, 0.5), seed=seed)
    target = max_drop(0.02)
    with working("calibrating"):
        certificate = calibrate(calibration, target=target)
    out.print("\n[bold]1. Calibrate[/]: how few candidates, if RR@10 may fall by at most 2%?")
    print_certificate(certificate)
    with working("checking"):
        found = check(certificate, held_out)
    out.print(
        f"\n[bold]2. Check[/] on {found.queries:,} queries it has not seen: {'contradicted' if found.contradicted else 'not contradicted'}."
    )
    out.print(
        f"   measured drop {100 * found.estimate:.2f}%, mean kept {found.mean_kept:,.1f}; surecut and ir-measures agree."
    )
    out.print("\n[bold]3. Compare[/] with cuts that only look right on the calibration queries:")
    table = Table("", "kept", "drop on held-out queries", "promise", box=None, pad_edge=False)
    table.add_row("surecut", f"{found.mean_kept:,.1f}", f"{100 * found.estimate:.2f}%", "at most 2%, 90% confidence")
    for procedure, name in (
        ("est", "EST, empirical score threshold"),
        ("ert", "ERT, empirical rank threshold"),
    ):
        with working(name):
            other = check(calibrate(calibration, target=target, procedure=procedure), held_out)  # type: ignore[arg-type]
        table.add_row(name, f"{other.mean_kept:,.1f}", f"{100 * other.estimate:.2f}%", "none")
    out.print(table)
    out.print("\nNow on your own files:")
    out.print(
        "  surecut calibrate --retriever bm25.run --reranker mono.run --qrels qrels.txt --max-drop 1% -o cert.json",
        soft_wrap=True,
    )
