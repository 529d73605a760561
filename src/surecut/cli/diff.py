"""surecut diff"""

from pathlib import Path
from typing import Annotated, Any

import typer

from surecut.cli import options as o
from surecut.cli.values import chosen_limit

HELP = """What changed between two certificates; with a limit also whether the new one may replace the old one.

Example: surecut diff old.json new.json

Example: surecut diff production.json new.json --max-kept-rise 10% --max-measure-fall 1%

Exit status: 0 done; with a limit, 1 if the new one is beyond it, claims less or is less sure.
"""


def diff(
    old: Annotated[Path, typer.Argument(metavar="old.json", help="The certificate before.")],
    new: Annotated[Path, typer.Argument(metavar="new.json", help="The certificate after.")],
    max_kept_rise: Annotated[
        str | None,
        typer.Option(
            "--max-kept-rise",
            metavar="SHARE",
            help="End with 1 if the new one keeps more than this on top (10%, 0), or claims less than the old one.",
        ),
    ] = None,
    max_measure_fall: Annotated[
        str | None,
        typer.Option(
            "--max-measure-fall",
            metavar="SHARE",
            help="End with 1 if its measure, pruned, is lower by more than this (1%, 0), or it claims less.",
        ),
    ] = None,
    json: o.Json = False,
) -> None:
    from rich.markup import escape
    from rich.table import Column, Table

    from surecut.cli.loading import load, refuse_two_pipes
    from surecut.cli.printing import out, print_json
    from surecut.comparing import changes, setbacks

    rise = None if max_kept_rise is None else chosen_limit("--max-kept-rise", max_kept_rise)
    fall = None if max_measure_fall is None else chosen_limit("--max-measure-fall", max_measure_fall)
    gates = rise is not None or fall is not None
    refuse_two_pipes(old, new)
    before, after = load(old), load(new)
    changed = changes(before, after)
    reasons = setbacks(before, after, rise, fall) if gates else []
    if json:
        record: dict[str, Any] = {name: {"old": pair[0], "new": pair[1]} for name, pair in changed.items()}
        print_json({"changes": record, "setbacks": reasons} if gates else record)
        raise typer.Exit(1 if reasons else 0)
    if not changed:
        out.print("no difference")
    else:
        table = Table(Column(no_wrap=True), "old", "new", "change", box=None, pad_edge=False)
        for name, (was, is_now) in changed.items():
            table.add_row(*map(escape, (name, _cell(was), _cell(is_now), _change(was, is_now))))
        out.print(table)
    for reason in reasons:
        out.print(f"[red]setback:[/] {escape(reason)}", soft_wrap=True)
    if gates and not reasons:
        out.print("[green]no setback:[/] the new one claims no less, and stays within the limits", soft_wrap=True)
    raise typer.Exit(1 if reasons else 0)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return "-" if value is None else str(value)


def _change(was: Any, is_now: Any) -> str:
    numbers = all(isinstance(each, int | float) and not isinstance(each, bool) for each in (was, is_now))
    if not numbers or was <= 0 or is_now < 0:
        return ""
    return f"{100 * (is_now - was) / abs(was):+.1f}%"
