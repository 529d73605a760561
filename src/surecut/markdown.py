"""Pipe tables, as pull requests and documentation show them."""

from collections.abc import Iterable, Sequence


def pipe_table(columns: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """A table whose first `left` columns hold words, the others numbers."""
    rule = ["---" if number < left else "---:" for number in range(len(columns))]
    lines = ([_cell(cell) for cell in line] for line in (columns, rule, *rows))
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def plain(text: str) -> str:
    """Text on one line that no reader takes for HTML."""
    return " ".join(text.replace("&", "&amp;").replace("<", "&lt;").split())


def _cell(text: str) -> str:
    """A cell that stays one, whatever a query is called."""
    return plain(text).replace("|", "\\|")
