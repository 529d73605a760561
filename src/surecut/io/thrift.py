"""Thrift's compact protocol, as far as the headers of Parquet files need it, from bytes that nobody vouches for."""

from collections.abc import Mapping
from typing import Any, Protocol

_STOP, _TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(13)
_NUMBERS = (_I16, _I32, _I64)
_DEEPEST = 32
_LONGEST_VARINT = 10

Struct = dict[int, Any]
Shape = Mapping[int, Any]
"""The fields of a struct that are wanted: None for a plain value, a shape for a struct or a list of structs."""


class Malformed(ValueError):
    """The bytes are not what they should be."""


class Source(Protocol):
    """Bytes by position: of memory, or of a file that is mapped into it."""

    def __getitem__(self, place: Any, /) -> Any: ...

    def __len__(self) -> int: ...


class Reader:
    """Reads structs from `content`, from `at` on; no list may be longer than the bytes that are left."""

    def __init__(self, content: Source, at: int, end: int) -> None:
        self._content, self.at, self._end = content, at, min(end, len(content))

    def struct(self, wanted: Shape, depth: int = 0) -> Struct:
        """The wanted fields of the struct that begins here, by number; the others are passed over."""
        _refuse_depth(depth)
        found: Struct = {}
        number = 0
        while (head := self._byte()) != _STOP:
            kind, step = head & 0x0F, head >> 4
            number = number + step if step else self._zigzag()
            if number in found:
                raise Malformed(f"the field {number} is there twice")
            if number in wanted:
                found[number] = self._value(kind, wanted[number], depth)
            else:
                self._skip(kind, depth)
        return found

    def _value(self, kind: int, wanted: Any, depth: int) -> Any:
        if kind == _STRUCT:
            return self.struct(wanted or {}, depth + 1)
        if kind in (_LIST, _SET):
            _refuse_depth(depth)
            inner, count = self._list_head()
            return [self._element(inner, wanted, depth) for _ in range(count)]
        if kind in _NUMBERS:
            return self._zigzag()
        if kind == _BINARY:
            return self._binary()
        self._skip(kind, depth)
        return kind == _TRUE

    def _element(self, kind: int, wanted: Any, depth: int) -> Any:
        """An element of a list; truth values have a byte of their own there."""
        return self._byte() == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind, wanted, depth + 1)

    def _skip(self, kind: int, depth: int) -> None:
        if kind in _NUMBERS:
            self._varint()
        elif kind == _BINARY:
            self._pass(self._varint())
        elif kind == _STRUCT:
            self.struct({}, depth + 1)
        elif kind in (_BYTE, _DOUBLE):
            self._pass(1 if kind == _BYTE else 8)
        elif kind in (_LIST, _SET):
            inner, count = self._list_head()
            self._skip_all(((inner, count),), depth)
        elif kind == _MAP:
            count = self._count(self._varint())
            kinds = self._byte() if count else 0
            self._skip_all(((kinds >> 4, count), (kinds & 0x0F, count)), depth)
        elif kind not in (_TRUE, _FALSE):
            raise Malformed(f"a field of the unknown type {kind}")

    def _skip_all(self, elements: Any, depth: int) -> None:
        _refuse_depth(depth)
        for kind, count in elements:
            for _ in range(count):
                if kind in (_TRUE, _FALSE):
                    self._pass(1)
                else:
                    self._skip(kind, depth + 1)

    def _list_head(self) -> tuple[int, int]:
        head = self._byte()
        count = head >> 4
        return head & 0x0F, self._count(self._varint() if count == 15 else count)

    def _count(self, count: int) -> int:
        if count > self._end - self.at:
            raise Malformed(f"a list of {count:,} in {self._end - self.at:,} bytes")
        return count

    def _binary(self) -> bytes:
        length = self._varint()
        start = self.at
        self._pass(length)
        return bytes(self._content[start : self.at])

    def _pass(self, length: int) -> None:
        if length > self._end - self.at:
            raise Malformed(f"{length:,} bytes where {self._end - self.at:,} are left")
        self.at += length

    def _byte(self) -> int:
        at = self.at
        if at >= self._end:
            raise Malformed("it ends in the middle of a field")
        self.at = at + 1
        return self._content[at]  # type: ignore[no-any-return]

    def _varint(self) -> int:
        value = self._byte()
        if value < 0x80:  # most are that small
            return value
        value &= 0x7F
        for place in range(1, _LONGEST_VARINT):
            byte = self._byte()
            value |= (byte & 0x7F) << (7 * place)
            if byte < 0x80:
                return value
        raise Malformed("a number without end")

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)


def _refuse_depth(depth: int) -> None:
    if depth > _DEEPEST:
        raise Malformed("fields within fields without end")
