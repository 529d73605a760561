"""How much of a file is read before it is refused: whole documents, lines, and what packed content may become."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from surecut.errors import InputError

LONGEST_LINE = 1 << 20
"""Bytes of a line of a run, of judgements or of groups; real ones have a hundred."""

LONGEST_RECORD = 64 << 20
"""Bytes of a line of JSON, which holds a whole document."""

LARGEST_DOCUMENT = 1 << 20
"""Bytes of a certificate or of a file of keys; real ones have a few thousand."""

LARGEST_RECIPE = 16 << 10
"""Bytes of a recipe; real ones have one thousand, and keys of TOML take time and room that grow with the square."""

LARGEST_DESCRIPTION = 16 << 20
"""Bytes of a table's meta.json, which may hold whatever its maker thought of."""

LARGEST_LIST = 1 << 28
"""Bytes of a file of groups, or of queries on standard input: some ten million lines."""

_ALWAYS_FINE = 64 << 20
_MOST_TIMES = 200
_LOOKED_AT = 4096


def most_unpacked(packed: int) -> int:
    """How many bytes so many packed ones may become: real files become 3 to 30 times as large."""
    return max(_ALWAYS_FINE, _MOST_TIMES * packed)


def read_document(path: str | Path, largest: int) -> str:
    """The text of a small file, which may be a pipe; of a large one no more is read than shows that it is."""
    try:
        with open(path, "rb") as file:
            return document(file, path, largest)
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: {getattr(error, 'strerror', None) or 'cannot be opened'}") from None


def document(stream: IO[bytes], name: object, largest: int) -> str:
    """The text of a small stream."""
    content = stream.read(largest + 1)
    if len(content) > largest:
        raise InputError(f"{name}: more than {largest:,} bytes, so this is not the file that is expected here")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise InputError(f"{name}: not a text file in UTF-8") from None


def numbered_lines(stream: IO[bytes], name: object, longest: int) -> Iterator[tuple[int, bytes]]:
    """Each line with its number, from 1; one that is too long is refused before it is in memory."""
    number = 0
    while line := stream.readline(longest + 1):
        number += 1
        if len(line) > longest:
            raise InputError(
                f"{name}, line {number:,}: longer than {longest:,} bytes, so this is no file of such lines, or its "
                "line ends were lost"
            )
        yield number, line


def refuse_long_lines(file: IO[bytes], name: object) -> None:
    """Hop through a file from line end to line end, as far as a line may go: a short look every mebibyte."""
    size, start = file.seek(0, os.SEEK_END), 0
    while size - start > LONGEST_LINE:
        end = _last_line_end(file, start, start + LONGEST_LINE + 1)
        if end < 0:
            raise long_line(name, start)
        start = end + 1


def long_line(name: object, start: int) -> InputError:
    """What to say of a line that is too long."""
    return InputError(
        f"{name}: the line at byte {start:,} is longer than {LONGEST_LINE:,} bytes, so this is no run and no "
        "judgements, or its line ends were lost"
    )


def _last_line_end(file: IO[bytes], low: int, high: int) -> int:
    reach = _LOOKED_AT
    while True:
        at = max(low, high - reach)
        file.seek(at)
        found = file.read(high - at).rfind(b"\n")
        if found >= 0:
            return at + found
        if at == low:
            return -1
        reach *= 16
