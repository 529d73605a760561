"""Pieces of Markdown."""

import textwrap
from collections.abc import Sequence

_WIDTH = 120


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """A pipe table; all but the first columns are aligned to the right."""
    rule = ["---" if number < left else "---:" for number in range(len(heads))]
    lines = [list(heads), rule, *(list(row) for row in rows)]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"


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
    return (
        "\n\n".join(textwrap.fill(part, 120, break_long_words=False, break_on_hyphens=False) for part in paragraphs)
        + "\n"
    )
