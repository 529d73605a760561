"""Pieces of Markdown."""

import textwrap
from collections.abc import Sequence

from surecut.markdown import pipe_table

_WIDTH = 120


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """A pipe table, as a paragraph of its own."""
    return pipe_table(heads, rows, left) + "\n"


def details(summary: str, body: str) -> str:
    """Something to open."""
    return f"<details>\n<summary>{summary}</summary>\n\n{body}\n</details>\n"


def code(language: str, lines: Sequence[str]) -> str:
    """A fenced block."""
    return "\n".join((f"```{language}", *lines, "```")) + "\n"


def size(value: float) -> str:
    """A mean number of candidates, published (whole) or measured: one decimal where it matters."""
    return f"{value:,.0f}" if value >= 100 or isinstance(value, int) else f"{value:,.1f}"


def prose(text: str, **values: object) -> str:
    """Paragraphs with their values filled in, wrapped; blank lines part them."""
    filled = text.format(**values)
    paragraphs = (" ".join(part.split()) for part in filled.strip().split("\n\n"))
    wrapped = (textwrap.fill(part, _WIDTH, break_long_words=False, break_on_hyphens=False) for part in paragraphs)
    return "\n\n".join(wrapped) + "\n"
