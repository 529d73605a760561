"""The command-line reference, from what the verbs themselves declare."""

import re
from collections.abc import Iterator
from typing import Any

from surecut.cli.app import verbs

_EXAMPLE = re.compile(r"Example: (surecut [^\n]*)")


def verbs_in_words() -> str:
    """Every verb with every option, as Markdown."""
    return "\n".join(line for name, command in verbs().items() for line in _verb(name, command))


def _verb(name: str, command: Any) -> Iterator[str]:
    yield f"## surecut {name}\n"
    paragraphs = [each for each in command.help.split("\n\n") if not each.startswith("Example: ")]
    yield "\n\n".join(paragraphs) + "\n"
    examples = [each.partition(", then ")[0] for each in _EXAMPLE.findall(command.help)]
    yield "```sh\n" + "\n".join(examples) + "\n```\n"
    panels: dict[str, list[Any]] = {}
    for each in command.params:
        panels.setdefault(_panel(each), []).append(each)
    for panel, members in panels.items():
        yield f"**{panel}**\n"
        for each in members:
            yield f"`{_spelled(each)}`\n: {_meaning(each)}\n"


def _panel(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return "Arguments"
    return parameter.rich_help_panel or "Options"


def _spelled(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return str(parameter.metavar)
    names = ", ".join(sorted(parameter.opts, key=len, reverse=True))
    return names if parameter.is_flag else f"{names} {parameter.metavar or 'NUMBER'}"


def _meaning(parameter: Any) -> str:
    text = str(parameter.help)
    if parameter.required:
        return f"{text} Required."
    if parameter.param_type_name == "argument" or parameter.is_flag or parameter.default is None:
        return text
    return f"{text} Default: `{parameter.default}`."
