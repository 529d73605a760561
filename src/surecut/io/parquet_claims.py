"""What a Parquet file claims of itself, held against its size before anybody acts on it.

A reader makes room for as many rows, pages and dictionary entries as the headers name; a header that lies would have
it ask for more memory than there is, which ends the process.
"""

import mmap
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from surecut.errors import InputError
from surecut.io.arrow_schema import refuse_deep_schema
from surecut.io.limits import most_unpacked
from surecut.io.thrift import Malformed, Reader, Source, Struct

_MAGIC = b"PAR1"
_TAIL = 8  # the footer's length and the magic bytes
_LARGEST_FOOTER = 16 << 20
_DEEPEST_COLUMN = 100
_LEAST_ENTRY = 2  # bytes of a dictionary's entry: a half-precision number
_BYTES_A_VALUE = 16  # a string's place in memory; numbers take 8
_DELTA_BYTE_ARRAY = 7
_DATA, _INDEX, _DICTIONARY, _DATA_V2 = range(4)  # kinds of pages

# The fields that are looked at, by their numbers in Parquet's definition.
_SCHEMA, _ROWS, _GROUPS, _EXTRAS = 2, 3, 4, 5  # of the footer
_REPETITION, _NAME, _CHILDREN = 3, 4, 5  # of an element of the schema
_KEY, _VALUE = 1, 2  # of what else the footer holds
_CHUNKS, _GROUP_ROWS = 1, 3  # of a group of rows
_HEADER = 3  # of a chunk, the values of a column in a group
_VALUES, _PACKED, _DATA_AT, _DICTIONARY_AT = 5, 7, 9, 11  # of its header
_KIND, _PAGE_UNPACKED, _PAGE_PACKED = 1, 2, 3  # of a page
_DATA_HEADER, _DICTIONARY_HEADER, _DATA_V2_HEADER = 5, 7, 8
_COUNT, _ENCODING = 1, 2  # of the header of data or a dictionary
_NULLS, _PAGE_ROWS, _ENCODING_V2, _LEVELS, _REPEATS = 2, 3, 4, 5, 6  # of data in the second version

_FOOTER = {
    _SCHEMA: dict.fromkeys((_REPETITION, _NAME, _CHILDREN)),
    _ROWS: None,
    _GROUPS: {
        _CHUNKS: {_HEADER: dict.fromkeys((_VALUES, _PACKED, _DATA_AT, _DICTIONARY_AT))},
        _GROUP_ROWS: None,
    },
    _EXTRAS: {_KEY: None, _VALUE: None},
}
_PAGE = {
    **dict.fromkeys((_KIND, _PAGE_UNPACKED, _PAGE_PACKED)),
    _DATA_HEADER: dict.fromkeys((_COUNT, _ENCODING)),
    _DICTIONARY_HEADER: {_COUNT: None},
    _DATA_V2_HEADER: dict.fromkeys((_COUNT, _NULLS, _PAGE_ROWS, _ENCODING_V2, _LEVELS, _REPEATS)),
}


@dataclass(frozen=True)
class Leaf:
    """A column that holds values; one inside others, or repeated, is not flat."""

    name: str
    flat: bool


class NotParquet(InputError):
    """A file is damaged, or no Parquet file at all."""

    def __init__(self, path: Path, reason: object) -> None:
        first = next(iter(str(reason).splitlines()), "")
        super().__init__(f"{path}: not readable as Parquet ({first}); make it again")


def refuse_lies(path: Path, wanted: Collection[str] | None) -> int:
    """Refuse a file that claims what its size does not bear out; else, the memory its wanted columns take at least."""
    try:
        size = path.stat().st_size
        if size < len(_MAGIC) + _TAIL:
            raise Malformed("it is too short")
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            rows, columns = _checked(content, wanted)
    except PermissionError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except (OSError, ValueError) as error:
        raise NotParquet(path, getattr(error, "strerror", None) or error) from None
    needed = rows * columns * _BYTES_A_VALUE
    if needed > most_unpacked(size):
        raise InputError(f"{path}: {rows:,} rows in {size:,} bytes, as no table of scores or texts has")
    return needed


def _checked(content: Source, wanted: Collection[str] | None) -> tuple[int, int]:
    """How many rows and wanted columns there are, once every header that is relied on was looked at."""
    start, footer = _read_footer(content)
    leaves = _leaves(footer)
    read = {leaf.name for leaf in leaves} if wanted is None else set(wanted)
    for leaf in leaves:
        if leaf.name in read and not leaf.flat:
            raise Malformed(f"the column '{leaf.name}' holds lists or other columns")
    rows = packed = unpacked = 0
    for group in _structs(footer, _GROUPS):
        chunks = _structs(group, _CHUNKS)
        if len(chunks) != len(leaves):
            raise Malformed(f"{len(chunks):,} columns where there are {len(leaves):,}")
        held = _number(group, _GROUP_ROWS)
        rows += held
        for leaf, chunk in zip(leaves, chunks, strict=True):
            begin, end = _extent(_struct(chunk, _HEADER), start)
            packed += end - begin
            if leaf.name in read:
                if _number(_struct(chunk, _HEADER), _VALUES) != held:
                    raise Malformed(f"a column of another length than the {held:,} rows")
                unpacked += _refuse_pages(content, begin, end, held)
    if rows != _number(footer, _ROWS):
        raise Malformed(f"{rows:,} rows where {_number(footer, _ROWS):,} are claimed")
    if packed > start or unpacked > most_unpacked(len(content)):
        raise Malformed(f"{packed:,} bytes that become {unpacked:,}, in a file of {len(content):,}")
    return rows, sum(leaf.name in read for leaf in leaves)


def _read_footer(content: Source) -> tuple[int, Struct]:
    """Where the footer begins, and what it says."""
    tail = bytes(content[len(content) - _TAIL :])
    if tail[4:] != _MAGIC or bytes(content[: len(_MAGIC)]) != _MAGIC:
        raise Malformed("it does not begin and end with PAR1")
    length = int.from_bytes(tail[:4], "little")
    start = len(content) - _TAIL - length
    if start < len(_MAGIC) or length > _LARGEST_FOOTER:
        raise Malformed(f"a footer of {length:,} bytes")
    footer = Reader(bytes(content[start : len(content) - _TAIL]), 0, length).struct(_FOOTER)
    for pair in _structs(footer, _EXTRAS, needed=False):
        if pair.get(_KEY) == b"ARROW:schema" and isinstance(pair.get(_VALUE), bytes):
            refuse_deep_schema(pair[_VALUE])
    return start, footer


def _leaves(footer: Struct) -> list[Leaf]:
    """The columns that hold values, in the order in which the schema names them."""
    root, *elements = _structs(footer, _SCHEMA) or [{}]
    leaves: list[Leaf] = []
    missing, top = [_number(root, _CHILDREN)], ""  # how many children each group on the way still has
    for element in elements:
        while missing and not missing[-1]:
            missing.pop()
        if not missing or len(missing) > _DEEPEST_COLUMN:
            raise Malformed("a schema that is no tree of columns, or too deep a one")
        missing[-1] -= 1
        if len(missing) == 1:
            top = _text(element, _NAME)
        if element.get(_CHILDREN):
            missing.append(_number(element, _CHILDREN))
        else:
            leaves.append(Leaf(top, len(missing) == 1 and element.get(_REPETITION) in (0, 1)))
    if any(missing):
        raise Malformed("a schema that ends before its columns")
    return leaves


def _extent(header: Struct, limit: int) -> tuple[int, int]:
    """Where the pages of a chunk begin and end."""
    begin = _number(header, _DICTIONARY_AT if _DICTIONARY_AT in header else _DATA_AT)
    end = begin + _number(header, _PACKED)
    if begin < len(_MAGIC) or end > limit:
        raise Malformed(f"a column from byte {begin:,} to {end:,}, in a file with {limit:,} bytes of columns")
    return begin, end


def _refuse_pages(content: Source, at: int, end: int, rows: int) -> int:
    """How many bytes the pages of a chunk become."""
    unpacked = values = 0
    while at < end:
        reader = Reader(content, at, end)
        page = reader.struct(_PAGE)
        at = reader.at + _number(page, _PAGE_PACKED)
        if at > end:
            raise Malformed("a page that is longer than its column")
        values += _page_values(page)
        unpacked += _number(page, _PAGE_UNPACKED)
    if values != rows:
        raise Malformed(f"{values:,} values in a column of {rows:,} rows")
    return unpacked


def _page_values(page: Struct) -> int:
    """How many rows have their value in a page."""
    kind = page.get(_KIND)
    if kind == _INDEX:
        return 0
    if kind == _DATA:
        _refuse_prefixes(_struct(page, _DATA_HEADER).get(_ENCODING))
        return _number(_struct(page, _DATA_HEADER), _COUNT)
    if kind == _DICTIONARY:
        entries, size = _number(_struct(page, _DICTIONARY_HEADER), _COUNT), _number(page, _PAGE_UNPACKED)
        if entries * _LEAST_ENTRY > size:
            raise Malformed(f"a dictionary of {entries:,} in {size:,} bytes")
        return 0
    if kind != _DATA_V2:
        raise Malformed(f"a page of the unknown kind {kind}")
    header = _struct(page, _DATA_V2_HEADER)
    _refuse_prefixes(header.get(_ENCODING_V2))
    values = _number(header, _COUNT)
    levels = _number(header, _LEVELS) + _number(header, _REPEATS)
    if _number(header, _PAGE_ROWS) != values or _number(header, _NULLS) > values:
        raise Malformed("a page of more values than rows")
    if levels > min(_number(page, _PAGE_PACKED), _number(page, _PAGE_UNPACKED)):
        raise Malformed("a page of nothing but levels")
    return values


def _refuse_prefixes(encoding: object) -> None:
    """Texts that each begin with all of the one before grow with the square of their number."""
    if encoding == _DELTA_BYTE_ARRAY:
        raise Malformed("the encoding DELTA_BYTE_ARRAY, where PLAIN, DELTA_LENGTH_BYTE_ARRAY or a dictionary is read")


def _structs(holder: Struct, field: int, needed: bool = True) -> list[Struct]:
    found = holder.get(field, None if needed else [])
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise Malformed(f"no list of structs in field {field}")
    return found


def _struct(holder: Struct, field: int) -> Struct:
    found = holder.get(field)
    if not isinstance(found, dict):
        raise Malformed(f"no struct in field {field}")
    return found


def _number(holder: Struct, field: int) -> int:
    found = holder.get(field)
    if not isinstance(found, int) or isinstance(found, bool) or not 0 <= found < 1 << 63:
        raise Malformed(f"no number of at least 0 in field {field}")
    return found


def _text(holder: Struct, field: int) -> str:
    found = holder.get(field)
    if not isinstance(found, bytes):
        raise Malformed(f"no name in field {field}")
    return found.decode("utf-8", "replace")
