"""surecut plan"""

from typing import Annotated

import typer

from surecut.cli import options as o
from surecut.cli.values import chosen_confidence, chosen_target
from surecut.targets import Target

HELP = """How many labelled queries a target needs: from pilot data, or from a mean and a standard deviation.

Example: surecut plan --table pilot/ --max-drop 1%

Example: surecut plan --at-least 0.38 --mean 0.41 --sd 0.44

Example: surecut plan --max-drop 1% --full-mean 0.41 --mean 0.408 --sd 0.08
"""


def plan(
    retriever: o.Retriever = None,
    reranker: o.Reranker = None,
    qrels: o.Qrels = None,
    table: o.Table = None,
    mean: Annotated[
        float | None,
        typer.Option("--mean", help="Mean of the measure at the set you hope to certify.", rich_help_panel=o.DATA),
    ] = None,
    sd: Annotated[
        float | None,
        typer.Option(
            "--sd",
            help="Its standard deviation over queries (drop targets: of full minus pruned).",
            rich_help_panel=o.DATA,
        ),
    ] = None,
    full_mean: Annotated[
        float | None,
        typer.Option("--full-mean", help="Drop targets: the mean with everything reranked.", rich_help_panel=o.DATA),
    ] = None,
    measure: o.MeasureName = "RR@10",
    at_least: o.AtLeastValue = None,
    max_drop: o.MaxDropValue = None,
    max_drop_abs: o.MaxDropAbs = None,
    agreement: o.AgreementValue = None,
    confidence: o.Confidence = "0.9",
    power: Annotated[
        float,
        typer.Option("--power", metavar="SHARE", help="Probability of success to plan for.", rich_help_panel=o.CLAIM),
    ] = 0.8,
    rule: o.RuleName = "softmax",
    tail: o.TailName = "drop",
    depth: o.Depth = None,
    missing_reranker: o.MissingReranker = "error",
    absent: o.Absent = "skip",
    groups: o.Groups = None,
    json: o.Json = False,
) -> None:
    from surecut.cli.loading import groups_in, open_data
    from surecut.cli.printing import err, out, print_json
    from surecut.cli.watching import watching
    from surecut.errors import InputError
    from surecut.planning import ANOTHER_LOOK

    target = chosen_target(at_least, max_drop, max_drop_abs, agreement)
    share = chosen_confidence(confidence)
    if not 0 < share < 1:
        raise InputError(f"confidence must lie between 0 and 1, like 0.9, not {confidence}")
    if mean is not None or sd is not None or full_mean is not None:
        needed = _from_moments(target, mean, sd, full_mean, share, power)
        if json:
            print_json({"queries": needed})
        elif needed is None:
            out.print("no number of queries would do: the mean does not meet the target")
        else:
            out.print(f"about {needed:,} labelled queries for {100 * power:g}% power")
        err.print(ANOTHER_LOOK, style="dim", soft_wrap=True)
        return
    from dataclasses import asdict

    from rich.table import Table

    from surecut.pilot import outlook

    reading = {"missing_reranker": missing_reranker, "absent": absent, "groups": groups_in(groups)}
    with watching() as watch:
        rows = outlook(
            open_data(retriever, reranker, qrels, table, depth=depth, watch=watch, **reading),  # type: ignore[arg-type]
            measure=measure,
            target=target,
            confidence=share,
            power=power,
            rule=rule,
            tail=tail,
            depth=depth,
        )
    if json:
        print_json([asdict(row) for row in rows])
    else:
        grouped = any(row.units != row.queries for row in rows)
        counted = ("groups needed", "labelled queries in them") if grouped else ("labelled queries needed",)
        shown = Table("mean kept", "measured", *counted, box=None, pad_edge=False)
        for row in rows:
            counts = (row.units, row.queries) if grouped else (row.queries,)
            words = ("none would do" if count is None else f"{count:,}" for count in counts)
            shown.add_row(f"{row.mean_kept:,.1f}", f"{row.measured:.4f}", *words)
        out.print(shown)
    err.print(ANOTHER_LOOK, style="dim", soft_wrap=True)


def _from_moments(
    target: Target,
    mean: float | None,
    sd: float | None,
    full_mean: float | None,
    confidence: float,
    power: float,
) -> int | None:
    import numpy as np

    from surecut.errors import InputError
    from surecut.planning import queries_needed
    from surecut.rules import least_share

    drop = target.is_drop
    if mean is None or sd is None or (drop and full_mean is None):
        raise InputError("give --mean and --sd" + (" and --full-mean, for a drop target" if drop else ""))
    for option, value in (("--mean", mean), ("--sd", sd), ("--full-mean", full_mean or 0.0)):
        if not 0.0 <= value <= 1.0:
            raise InputError(f"{option} {value:g}: must lie between 0 and 1")
    full = np.array([mean if full_mean is None else full_mean])
    x = float(target.variable_at(target.value, np.array([mean]), full)[0])
    scale = {"max_drop": 1 / (2 - target.value), "max_drop_abs": 0.5}.get(target.kind, 1.0)
    delta = least_share(several_starts=not target.met_unpruned) * (1 - confidence)
    return queries_needed(x, (scale * sd) ** 2, target.level, delta, power)
