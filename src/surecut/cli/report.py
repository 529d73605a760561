"""surecut report"""

from pathlib import Path
from typing import Annotated, Any

import typer

from surecut.cli import options as o
from surecut.cli.values import json_or
from surecut.errors import InputError
from surecut.registry import unknown

HELP = """One self-contained page about a certificate and the data it was calibrated on; or Markdown, or figures.

Example: surecut report cert.json --retriever bm25.run --reranker mono.run --qrels qrels.txt -o report.html

Example: surecut report cert.json --table scores/mine --format md -o report.md, then paste it in a pull request

Exit status: 0 done, 1 the held-out queries contradict the claim, 2 bad input.
"""

HeldOut = Annotated[
    str | None,
    typer.Option(
        "--held-out",
        metavar="DIR",
        help="Other queries, as a score table or a folder of run files: the report shows the claim on them.",
        rich_help_panel=o.DATA,
    ),
]
Output = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="FILE", help="Where to write it.", rich_help_panel=o.OUTPUT),
]
WrittenAs = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="html|md|json",
        help="A page, Markdown or JSON (by the name of the file; all but a page may go to standard output).",
        rich_help_panel=o.OUTPUT,
    ),
]
Figures = Annotated[
    Path | None,
    typer.Option(
        "--figures", metavar="DIR", help="Each figure as a PNG and an SVG file too.", rich_help_panel=o.OUTPUT
    ),
]


def report(
    certificate: o.CertificatePath,
    retriever: o.Retriever = None,
    reranker: o.Reranker = None,
    qrels: o.Qrels = None,
    table: o.Table = None,
    held_out: HeldOut = None,
    depth: o.Depth = None,
    missing_reranker: o.MissingReranker = "error",
    absent: o.Absent = "skip",
    groups: o.Groups = None,
    tune_table: o.TuneTable = None,
    tune_fraction: o.TuneFraction = 0.2,
    max_keep: o.Cap = None,
    any_system: o.AnySystem = False,
    any_length: o.AnyLength = False,
    output: Output = None,
    written_as: WrittenAs = None,
    figures: Figures = None,
    ms_per_pair: o.MsPerPair = None,
    json: o.Json = False,
) -> None:
    from surecut.cli.loading import groups_in, load, load_data, open_tuning, refuse_two_pipes
    from surecut.cli.printing import err, print_text, this_command
    from surecut.cli.watching import watching
    from surecut.files import refuse_no_folder, refuse_overwriting, refuse_unwritable, write_atomically
    from surecut.report.contents import verdict_of
    from surecut.report.drawing import write_figures
    from surecut.report.gathering import gather
    from surecut.report.writing import FORMATS

    if output is not None:
        refuse_unwritable(output)
        refuse_overwriting(output, certificate)
    chosen = _format(json_or(json, written_as), output, nothing_is_fine=figures is not None)
    if figures is not None:
        refuse_no_folder(figures)
    refuse_two_pipes(certificate, retriever, reranker, qrels)
    loaded = load(certificate)
    reading: dict[str, Any] = {"missing_reranker": missing_reranker, "absent": absent, "groups": groups_in(groups)}
    data = load_data(retriever, reranker, qrels, table, depth=depth, **reading)
    others = None if held_out is None else load_data(None, None, None, held_out, depth=depth, **reading)
    tuning: dict[str, Any] = {"missing_reranker": missing_reranker, "groups": reading["groups"]}
    with watching() as watch:
        tune = open_tuning(tune_table, depth=depth, watch=watch, **tuning)
        found = gather(
            loaded,
            data,
            held_out=others,
            any_length=any_length,
            ms_per_pair=ms_per_pair,
            command=this_command(),
            watch=watch,
            tune=tune,
            tune_fraction=tune_fraction,
            max_keep=max_keep,
            any_system=any_system,
        )
        watch.stage("writing")
        text = None if chosen is None else FORMATS[chosen](found)
        if text is not None and output is not None:
            write_atomically(output, text)
        drawn = [] if figures is None else write_figures(found, figures)
    if text is not None and output is None:
        print_text(text)
    _tell(output, chosen, drawn)
    verdict = verdict_of(found)
    if verdict is not None and found.check is not None and found.check.contradicted:
        err.print(f"{verdict.title}: {verdict.verdict} {verdict.sentence}", style="red", soft_wrap=True, markup=False)
        raise typer.Exit(1)


def _format(written_as: str | None, output: Path | None, nothing_is_fine: bool) -> str | None:
    """What to write: as asked, else by the file's name; nothing where only figures or JSON were asked for."""
    from surecut.report.writing import FORMATS, format_of

    if written_as is not None and written_as not in FORMATS:
        raise InputError(unknown("format", written_as, list(FORMATS)))
    if output is not None:
        return written_as or format_of(output)
    if written_as is None and nothing_is_fine:
        return None
    if written_as not in ("md", "json"):
        raise InputError("a page needs a file: add -o report.html (or --format md for Markdown here)")
    return written_as


def _tell(output: Path | None, chosen: str | None, drawn: list[Path]) -> None:
    from surecut.cli.printing import err

    if drawn:
        kinds = sorted({path.suffix.removeprefix(".") for path in drawn})
        count = f"{len(drawn) // len(kinds)} figures, each as {' and '.join(kinds)}"
        err.print(f"{count}, written to {drawn[0].parent}", style="dim", soft_wrap=True, markup=False)
    if output is not None:
        hint = "; open it in a browser" if chosen == "html" else ""
        err.print(f"written to {output}{hint}", style="dim", soft_wrap=True, markup=False)
