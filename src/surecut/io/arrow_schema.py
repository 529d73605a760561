"""The Arrow schema that Parquet files carry along: how deep and how large it is, before anybody follows it."""

import struct
from binascii import Error as NotBase64
from binascii import a2b_base64

from surecut.io.thrift import Malformed

_CONTINUED = b"\xff\xff\xff\xff"
_HEADER, _FIELDS, _CHILDREN = 2, 1, 5  # of a message, of a schema, of a field: the numbers of their tables
_DEEPEST = 64
_MOST = 50_000


def refuse_deep_schema(encoded: bytes) -> None:
    """Refuse fields within fields without end: a reader that follows them runs out of stack, or of time."""
    try:
        message = a2b_base64(encoded, strict_mode=True)
        _follow(_Tables(message, 8 if message.startswith(_CONTINUED) else 4))
    except (NotBase64, struct.error, IndexError):
        raise Malformed("an Arrow schema that is none") from None


class _Tables:
    """Tables of a flatbuffer, by position; whatever points beyond it raises struct.error."""

    def __init__(self, content: bytes, start: int) -> None:
        self._content = content[start:]

    @property
    def root(self) -> int:
        return self._number("<I", 0)

    def table(self, at: int, number: int) -> int | None:
        """Where the field of this number points to."""
        vtable = at - self._number("<i", at)
        place = 4 + 2 * number
        if vtable < 0 or place >= self._number("<H", vtable):
            return None
        inside = self._number("<H", vtable + place)
        return None if inside == 0 else at + inside + self._number("<I", at + inside)

    def members(self, at: int) -> list[int]:
        """The tables of a vector."""
        count = self._number("<I", at)
        if count > _MOST:
            raise IndexError
        places = (at + 4 * place for place in range(1, count + 1))
        return [place + self._number("<I", place) for place in places]

    def _number(self, form: str, at: int) -> int:
        if at < 0:
            raise IndexError
        return int(struct.unpack_from(form, self._content, at)[0])


def _follow(tables: _Tables) -> None:
    schema = tables.table(tables.root, _HEADER)
    level = [] if schema is None else _below(tables, schema, _FIELDS)
    followed = 0
    for _ in range(_DEEPEST):
        inner: list[int] = []
        for field in level:
            inner += _below(tables, field, _CHILDREN)
            if followed + len(inner) > _MOST:
                raise Malformed("an Arrow schema of more fields than any table has columns")
        followed += len(inner)
        level = inner
    if level:
        raise Malformed("an Arrow schema of fields within fields without end")


def _below(tables: _Tables, at: int, number: int) -> list[int]:
    vector = tables.table(at, number)
    return [] if vector is None else tables.members(vector)
