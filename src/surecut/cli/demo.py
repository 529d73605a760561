"""surecut demo"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from surecut.candidates import Candidates
    from surecut.certificate import Certificate
    from surecut.checking import Check

HELP = """Calibrate, check, compare and report on a real two-stage system that ships with surecut: offline, in seconds.

Example: surecut demo

Example: surecut demo --files demo, then try the other verbs on demo/calibration and demo/held-out
"""

_EXAMPLE = "quora-duplicates-bm25-minilm"
_SIZES = (1.0, 0.5, 0.25, 0.1, 0.05, 0.02)
_MAX_DROP = 0.02
_REPORT = Path("surecut-demo.html")


def demo(
    simulated: Annotated[
        bool, typer.Option("--simulated", help="A simulated system like DPR + MonoELECTRA instead of the real one.")
    ] = False,
    queries: Annotated[int | None, typer.Option("--queries", metavar="N", help="Queries to simulate (6,000).")] = None,
    depth: Annotated[
        int | None, typer.Option("--depth", metavar="N", help="Candidates a query to simulate (1,000).")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the simulation and of the split.")] = 0,
    files: Annotated[
        Path | None, typer.Option("--files", metavar="DIR", help="Also write the runs and judgements, to try them out.")
    ] = None,
    report: Annotated[Path, typer.Option("--report", metavar="FILE", help="Where to write the report.")] = _REPORT,
) -> None:
    from surecut.calibration import calibrate
    from surecut.checking import check
    from surecut.cli.loading import working
    from surecut.cli.printing import EXIT, out, print_certificate
    from surecut.errors import InputError
    from surecut.files import refuse_no_folder, refuse_unwritable
    from surecut.report.writing import format_of
    from surecut.targets import max_drop

    if not simulated and (queries is not None or depth is not None):
        raise InputError("--queries and --depth are of the simulation: add --simulated")
    if seed < 0:
        raise InputError(f"--seed {seed}: 0 or more")
    format_of(report)
    refuse_unwritable(report)
    if files is not None:
        refuse_no_folder(files)
    with working("simulating" if simulated else "reading"):
        description, data = _simulated(queries, depth, seed) if simulated else _real()
        calibration, held_out = data.split((0.5, 0.5), seed=seed)
    out.print(f"{description}: {len(data):,} queries x {int(data.lengths.max()):,} candidates.", soft_wrap=True)
    with working("calibrating"):
        certificate = calibrate(calibration, target=max_drop(_MAX_DROP))
    out.print("\n[bold]1. Calibrate[/]: how few candidates, if RR@10 may fall by at most 2%?")
    print_certificate(certificate)
    if not certificate.certified:
        out.print("\nNothing is certified, so there is nothing to go on with: try other --queries or another --depth.")
        raise typer.Exit(EXIT[certificate.status])
    with working("checking"):
        found = check(certificate, held_out, any_length=True)
    verdict = "contradicted" if found.contradicted else "not contradicted"
    out.print(f"\n[bold]2. Check[/] on {found.queries:,} queries it has not seen: {verdict}.")
    out.print(f"   drop {100 * found.estimate:.2f}%, mean kept {found.mean_kept:,.1f}; surecut and ir-measures agree.")
    out.print(
        "\n[bold]3. Compare[/] with the published procedure, and cuts that are right on the calibration queries only:"
    )
    _compare(calibration, held_out, found)
    out.print("\n[bold]4. Look[/]: RR@10 on the held-out queries against the mean size")
    _plot(certificate, held_out)
    _report(certificate, calibration, held_out, report)
    if files is not None:
        with working("writing files"):
            _write(files, calibration, held_out)
    _next(files)


def _real() -> tuple[str, "Candidates"]:
    from surecut.io.shipped import PREFIX
    from surecut.io.table import read_meta, read_table

    table = f"{PREFIX}{_EXAMPLE}"
    return f"A [bold]real[/] two-stage system, {read_meta(table)['name']}", read_table(table)


def _simulated(queries: int | None, depth: int | None, seed: int) -> tuple[str, "Candidates"]:
    from surecut.simulation import SYSTEMS, simulate

    system = SYSTEMS["dense-electra"]
    data = simulate(system, 6000 if queries is None else queries, 1000 if depth is None else depth, seed)
    return f"A [bold]simulated[/] two-stage system, {system.sentence}", data


def _compare(calibration: "Candidates", held_out: "Candidates", found: "Check") -> None:
    from rich.table import Table

    from surecut.calibration import calibrate
    from surecut.checking import check
    from surecut.cli.loading import working
    from surecut.cli.printing import out
    from surecut.targets import max_drop

    table = Table("", "kept", "drop", "promise", box=None, pad_edge=False)
    table.add_row("surecut", f"{found.mean_kept:,.1f}", f"{100 * found.estimate:.2f}%", "at most 2%, 90% confidence")
    for procedure, name in (("paper", "CEC, as published"), ("est", "EST (score)"), ("ert", "ERT (rank)")):
        with working(name):
            other = calibrate(calibration, target=max_drop(_MAX_DROP), procedure=procedure)  # type: ignore[arg-type]
            seen = check(other, held_out, any_length=True)
        table.add_row(name, f"{seen.mean_kept:,.1f}", f"{100 * seen.estimate:.2f}%", "none that holds")
    out.print(table)


def _plot(certificate: "Certificate", held_out: "Candidates") -> None:
    """A bar a size; the certified one is marked."""
    from surecut.cli.printing import out
    from surecut.curves import measure_curves
    from surecut.fusion import final_scores
    from surecut.measures import as_measure
    from surecut.placement import thresholds_for_means

    rule, sizes = certificate.pruner.rule, [share * float(held_out.lengths.mean()) for share in _SIZES]
    keys = rule.keys(held_out)
    curves = measure_curves(held_out, keys, final_scores(held_out), as_measure(certificate.measure))
    thresholds = thresholds_for_means(held_out, rule, sizes)
    rows = [(size, threshold, "") for size, threshold in zip(sizes, thresholds, strict=True)]
    rows.append((float((keys >= certificate.threshold).sum()) / len(held_out), certificate.threshold, " < certified"))
    values = [float(curves.at(threshold).mean()) for _, threshold, _ in rows]
    high = max(*values, 1e-12)
    low = 0.98 * min(values)  # bars begin here, else they all look alike
    for size, threshold, mark in sorted(rows, reverse=True):
        value = float(curves.at(threshold).mean())
        out.print(f"  {size:7,.0f}  {value:.4f}  {'#' * max(round(45 * (value - low) / (high - low)), 1)}{mark}")


def _report(certificate: "Certificate", calibration: "Candidates", held_out: "Candidates", path: Path) -> None:
    from rich.markup import escape

    from surecut.cli.printing import out, this_command
    from surecut.cli.watching import watching
    from surecut.extras import MissingExtra
    from surecut.report.writing import write_report

    try:
        with watching() as watch:
            write_report(
                certificate,
                calibration,
                path,
                held_out=held_out,
                any_length=True,
                command=this_command(),
                watch=watch,
            )
    except MissingExtra as missing:
        out.print(f"\n[bold]5. Read[/]: a page about all of it: {escape(str(missing))}", soft_wrap=True)
        return
    out.print(
        f"\n[bold]5. Read[/]: all of it on one page: open [bold]{escape(str(path))}[/] in a browser.", soft_wrap=True
    )


def _write(folder: Path, calibration: "Candidates", held_out: "Candidates") -> None:
    from surecut.io.writing import write_trec

    write_trec(calibration, folder / "calibration")
    write_trec(held_out, folder / "held-out")


def _next(files: Path | None) -> None:
    from surecut.cli.printing import out

    out.print("\nNow on your own files:")
    runs = "--retriever bm25.run --reranker mono.run --qrels qrels.txt"
    if files is not None:
        root = files / "calibration"
        runs = f"--retriever {root}/retriever.run --reranker {root}/reranker.run --qrels {root}/qrels.txt"
        out.print("(or first on the ones just written)")
    out.print(f"  surecut calibrate {runs} --max-drop 1% -o cert.json", soft_wrap=True)
