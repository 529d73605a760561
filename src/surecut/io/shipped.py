"""Score tables of real two-stage systems that ship with surecut: ids, scores and judgements, no text."""

from pathlib import Path

from surecut.errors import InputError
from surecut.registry import unknown

PREFIX = "example:"
_DATA = Path(__file__).parents[1] / "data"


def shipped_tables() -> list[str]:
    """Names that `example:NAME` knows."""
    return sorted(path.parent.name for path in _DATA.glob("*/meta.json"))


def find_table(folder: str | Path) -> Path:
    """The folder of a score table: as named, or one that ships."""
    name = str(folder)
    if name.startswith(PREFIX):
        wanted = name.removeprefix(PREFIX)
        if wanted not in shipped_tables():
            raise InputError(unknown("example", wanted, shipped_tables()))
        return _DATA / wanted
    if Path(folder).is_file():
        raise InputError(f"{folder}: is a file, where a folder is expected (run files go with --retriever, --reranker)")
    if not Path(folder).is_dir():
        raise InputError(f"{folder}: no such folder; a score table is a folder that surecut score or write_table made")
    return Path(folder)
