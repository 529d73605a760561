"""surecut trials"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from surecut.cli import options as o
from surecut.cli.values import chosen_confidence, chosen_fusion, chosen_target, json_or, named_method
from surecut.errors import InputError
from surecut.files import refuse_unwritable
from surecut.io.shipped import PREFIX
from surecut.registry import unknown
from surecut.simulation import SYSTEMS
from surecut.trials.methods import METHODS, contenders

if TYPE_CHECKING:
    from surecut.lists import Lists
    from surecut.trials.outcome import Trials

HELP = f"""Repeated random splits: coverage and size of several methods, side by side on the same draws.

Methods: {METHODS.help()}. Or NAME=METHOD:OPTION=VALUE,... with the options of calibrate, as in
by-rank=surecut:rule=rank,test=wsr or loose=est:max-drop=5%.

Example: surecut trials --table example:quora-duplicates-bm25-minilm --max-drop 2% --trials 20

Example: surecut trials --calibrate-on scores/a --test-on scores/b --at-least 0.38 --format md -o trials.md
"""

_SHOWN = ("rich", "md", "latex", "csv", "json")
_TRIALS = "Trials"
_QUERIES, _DEPTH = 11_980, 1_000

CalibrateOn = Annotated[
    str | None,
    typer.Option("--calibrate-on", metavar="DIR", help="Calibrate on this table ...", rich_help_panel=_TRIALS),
]
TestOn = Annotated[
    str | None,
    typer.Option(
        "--test-on",
        metavar="DIR",
        help="... and test on this one: what happens when the queries are of another kind. Beside it, calibrated on "
        "queries of this one too.",
        rich_help_panel=_TRIALS,
    ),
]
Simulated = Annotated[
    str | None,
    typer.Option("--simulated", metavar="NAME", help=f"A simulated system: {SYSTEMS.help()}.", rich_help_panel=o.DATA),
]
Queries = Annotated[
    int | None,
    typer.Option("--queries", metavar="N", help="Queries to simulate (11,980).", rich_help_panel=o.DATA),
]
MethodNames = Annotated[
    list[str] | None,
    typer.Option(
        "--method",
        metavar="NAME",
        help="What to compare; may be given several times (all four by default).",
        rich_help_panel=_TRIALS,
    ),
]
Repetitions = Annotated[int, typer.Option("--trials", metavar="N", help="Repetitions.", rich_help_panel=_TRIALS)]
CalibrationQueries = Annotated[
    int | None,
    typer.Option(
        "--calibration",
        metavar="N",
        help="Calibration queries a trial: 5,000 as in the paper, or in that proportion if there are fewer.",
        rich_help_panel=_TRIALS,
    ),
]
TestQueries = Annotated[
    int | None,
    typer.Option("--test", metavar="N", help="Test queries a trial: 6,980, or what is left.", rich_help_panel=_TRIALS),
]
Seed = Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the draws.", rich_help_panel=_TRIALS)]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", metavar="N", help="Threads (all cores); no result depends on it.", rich_help_panel=_TRIALS),
]
Output = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="FILE", help="Where to write it.", rich_help_panel=o.OUTPUT),
]
ShownAs = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="|".join(_SHOWN),
        help="How to show it (rich, or by the name of the file).",
        rich_help_panel=o.OUTPUT,
    ),
]


def trials(
    retriever: o.Retriever = None,
    reranker: o.Reranker = None,
    qrels: o.Qrels = None,
    table: o.Table = None,
    calibrate_on: CalibrateOn = None,
    test_on: TestOn = None,
    simulated: Simulated = None,
    queries: Queries = None,
    method: MethodNames = None,
    repetitions: Repetitions = 100,
    calibration: CalibrationQueries = None,
    test: TestQueries = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    measure: o.MeasureName = "RR@10",
    at_least: o.AtLeastValue = None,
    max_drop: o.MaxDropValue = None,
    max_drop_abs: o.MaxDropAbs = None,
    agreement: o.AgreementValue = None,
    confidence: o.Confidence = "0.9",
    rule: o.RuleName = "softmax",
    tail: o.TailName = "drop",
    min_keep: o.MinKeep = 1,
    max_keep: o.MaxKeep = None,
    depth: o.Depth = None,
    fusion: o.Fusion = "0",
    missing_reranker: o.MissingReranker = "error",
    absent: o.Absent = "skip",
    groups: o.Groups = None,
    output: Output = None,
    shown_as: ShownAs = None,
    json: o.Json = False,
) -> None:
    from surecut.cli.loading import groups_in
    from surecut.cli.printing import err, print_census
    from surecut.cli.watching import watching
    from surecut.counting import census
    from surecut.trials.running import DEFAULT_METHODS, run_trials

    if output is not None:
        refuse_unwritable(output)
    form = _format(json_or(json, shown_as), output)
    common = {
        "measure": measure,
        "target": chosen_target(at_least, max_drop, max_drop_abs, agreement),
        "confidence": chosen_confidence(confidence),
        "rule": rule,
        "tail": tail,
        "min_keep": min_keep,
        "max_keep": max_keep,
        "fusion": chosen_fusion(fusion),
    }
    methods = [named_method(each) for each in method or DEFAULT_METHODS]
    contenders(methods, common, grouped=groups is not None)  # a wrong word is refused before anything is read
    reading: dict[str, Any] = {
        "depth": depth,
        "missing_reranker": missing_reranker,
        "absent": absent,
        "groups": groups_in(groups),
    }
    given = (retriever, reranker, qrels, table)
    with watching() as watch:
        reading["watch"] = watch
        pools = _pools(given, (calibrate_on, test_on), (simulated, queries, seed), reading)
        if method is None and not all(data.judged.any() for _, data in pools):
            methods = [each for each in methods if each.name != "cec"]
            err.print("cec is left out: without judgements there is nothing to fit its temperature on", style="dim")
        found = run_trials(
            pools[0][1],
            methods,
            test_on=pools[1][1] if len(pools) > 1 else None,
            trials=repetitions,
            calibration=calibration,
            test=test,
            seed=seed,
            jobs=jobs,
            names=[name for name, _ in pools],
            watch=watch,
            **common,
        )
    _show(found, form, output)
    for (_, data), filled in zip(pools, found.filled_reranked, strict=True) if simulated is None else ():
        print_census(census(data, None, agreement is None, filled))


def _format(shown_as: str | None, output: Path | None) -> str:
    """As asked for, else by the file's name, else for the terminal."""
    if shown_as is None and output is not None:
        suffix = output.suffix.lower().removeprefix(".")
        shown_as = {"tex": "latex", "markdown": "md"}.get(suffix, suffix)
        if shown_as not in _SHOWN[1:]:
            raise InputError(f"{output}: name the file .md, .tex, .csv or .json, or add --format")
    if shown_as is not None and shown_as not in _SHOWN:
        raise InputError(unknown("format", shown_as, list(_SHOWN)))
    if shown_as == "rich" and output is not None:
        raise InputError(f"{output}: the rich table is for the terminal; use --format md, latex, csv or json")
    return shown_as or "rich"


def _pools(
    given: tuple[str | None, str | None, str | None, str | None],
    domains: tuple[str | None, str | None],
    simulation: tuple[str | None, int | None, int],
    reading: dict[str, Any],
) -> "list[tuple[str, Lists]]":
    """What to draw from, by name: one source, or one to calibrate on and one to test on."""
    from surecut.cli.loading import open_data
    from surecut.simulation import simulate

    system, queries, seed = simulation
    if (domains[0] is None) != (domains[1] is None):
        raise InputError("--calibrate-on and --test-on belong together: give both, or one --table")
    if sum((domains[0] is not None, system is not None, any(each is not None for each in given))) > 1:
        raise InputError("give the data once: run files or --table, --calibrate-on with --test-on, or --simulated")
    if queries is not None and system is None:
        raise InputError("--queries is of the simulation: add --simulated NAME")
    if system is not None:
        reading["watch"].stage("simulating")
        data = simulate(system, _QUERIES if queries is None else queries, reading["depth"] or _DEPTH, seed)
        return [(f"simulated {system}", data)]
    if domains[0] is not None and domains[1] is not None:
        if domains[0] == domains[1]:
            raise InputError("--calibrate-on and --test-on are the same: give others, or one --table")
        names = [_name(domains[0]), _name(domains[1])]
        if names[0] == names[1]:
            names = [domains[0], domains[1]]
        tables = [open_data(None, None, None, each, **reading) for each in domains if each is not None]
        return list(zip(names, tables, strict=True))
    return [(_name(given[3] or given[0] or ""), open_data(*given, **reading))]


def _name(source: str) -> str:
    return "standard input" if source == "-" else Path(source.removeprefix(PREFIX)).name


def _show(found: "Trials", shown_as: str, output: Path | None) -> None:
    from surecut.cli.printing import as_json, err, print_text
    from surecut.files import write_atomically
    from surecut.trials.table import FORMATS

    if output is None and shown_as == "rich":
        _print(found)
        return
    text = as_json(found.to_dict()) + "\n" if shown_as == "json" else FORMATS[shown_as](found)
    if output is None:
        print_text(text)
        return
    write_atomically(output, text)
    err.print(f"written to {output}", style="dim", soft_wrap=True, markup=False)


def _print(found: "Trials") -> None:
    from rich.table import Table

    from surecut.cli.printing import out, print_whole
    from surecut.trials.table import cells, headings, notes, several_claims, title

    shown = [number for number, heading in enumerate(headings(found)) if heading != "claim"]  # it goes below
    for block in found.blocks:
        table = Table(title=title(block), title_justify="left", title_style="bold", box=None, collapse_padding=True)
        for number in shown:
            heading = headings(found)[number].replace(", ", "\n")
            table.add_column(heading, justify="right" if number else "left", no_wrap=True)
        for row in block.methods:
            line = cells(found, row)
            table.add_row(*(line[number] for number in shown))
        print_whole(table)
        out.print()
    if several_claims(found):
        for row in found.blocks[0].methods:
            out.print(f"{row.method}: {row.claim}", style="dim", markup=False)
    for note in notes(found):
        out.print(note, style="yellow" if note.startswith("Warning") else "dim", markup=False)
