"""surecut diff"""

from pathlib import Path
from typing import Annotated, Any

import typer

from surecut.cli import options as o

HELP = """What changed between two certificates.

Example: surecut diff old.json new.json
"""


def diff(
    old: Annotated[Path, typer.Argument(metavar="old.json", help="The certificate before.")],
    new: Annotated[Path, typer.Argument(metavar="new.json", help="The certificate after.")],
    json: o.Json = False,
) -> None:
    from rich.table import Column, Table

    from surecut.cli.loading import load
    from surecut.cli.printing import out, print_json

    before, after = flat(load(old).to_dict()), flat(load(new).to_dict())
    changed = {
        name: (before.get(name), after.get(name))
        for name in {**before, **after}
        if before.get(name) != after.get(name) and name not in ("statement", "surecut")
    }
    if json:
        print_json({name: {"old": pair[0], "new": pair[1]} for name, pair in changed.items()})
        return
    if not changed:
        out.print("no difference")
        return
    table = Table(Column(no_wrap=True), "old", "new", "change", box=None, pad_edge=False)
    for name, (was, is_now) in changed.items():
        table.add_row(name, _cell(was), _cell(is_now), _change(was, is_now))
    out.print(table)


def flat(record: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested fields by dotted names."""
    fields: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, dict):
            fields |= flat(value, f"{prefix}{name}.")
        else:
            fields[prefix + name] = value
    return fields


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return "-" if value is None else str(value)


def _change(was: Any, is_now: Any) -> str:
    numbers = all(isinstance(each, int | float) and not isinstance(each, bool) for each in (was, is_now))
    if not numbers or was <= 0 or is_now < 0:
        return ""
    return f"{100 * (is_now - was) / abs(was):+.1f}%"
