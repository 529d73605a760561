"""Groups of queries that count as one, in lines 'query group'."""

from pathlib import Path

from surecut.errors import InputError
from surecut.io.limits import LARGEST_LIST, LONGEST_LINE, numbered_lines


def read_groups(path: str | Path) -> dict[str, str]:
    """The group of each query that a file names."""
    groups: dict[str, str] = {}
    read = 0
    try:
        with open(path, "rb") as file:
            for number, line in numbered_lines(file, path, LONGEST_LINE):
                read += len(line)
                if read > LARGEST_LIST:
                    raise InputError(f"{path}: more than {LARGEST_LIST:,} bytes, so this is no file of groups")
                _add(groups, line.decode().split(), f"{path}, line {number}")
    except InputError:
        raise
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or 'not a text file in UTF-8'}") from None
    return groups


def _add(groups: dict[str, str], fields: list[str], where: str) -> None:
    if not fields:
        return
    if len(fields) != 2:
        raise InputError(f"{where}: {len(fields)} columns where 2 are expected (query group)")
    query, group = fields
    if groups.setdefault(query, group) != group:
        raise InputError(f"{where}: query '{query}' is in two groups")
