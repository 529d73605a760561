"""Parquet files written by hand, so that any number in them can be a lie."""

import base64
import struct
from dataclasses import dataclass, field

import pyarrow as pa

BYTES, FLOAT, DOUBLE = 6, 4, 5  # physical types
PLAIN, RLE, DELTA, DELTA_LENGTH, DELTA_BYTES, DICTIONARY = 0, 3, 5, 6, 7, 8  # encodings
UNPACKED, SNAPPY = 0, 1  # codecs
REQUIRED, OPTIONAL = 0, 1

_I32, _I64, _BINARY, _LIST, _STRUCT = 5, 6, 8, 9, 12


def varint(number):
    number &= (1 << 64) - 1
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*encoded, number))


def zigzag(number):
    return varint((number << 1) ^ (number >> 63))


def thrift(*fields):
    """A struct of (number, type, value); a field that is None is left out."""
    encoded, last = b"", 0
    for number, kind, value in fields:
        if value is not None:
            encoded += bytes([(number - last) << 4 | kind]) + _value(kind, value)
            last = number
    return encoded + b"\0"


def listed(kind, values, claimed=None):
    """A list that may claim another length than its own."""
    return varint_head(len(values) if claimed is None else claimed, kind) + b"".join(_value(kind, v) for v in values)


def varint_head(length, kind):
    return bytes([length << 4 | kind]) if length < 15 else bytes([0xF0 | kind]) + varint(length)


def _value(kind, value):
    if kind in (_I32, _I64):
        return zigzag(value)
    return varint(len(value)) + value if kind == _BINARY else value


def page(body, values, encoding=PLAIN, *, kind=0, unpacked=None, packed=None):
    """A page of data (0) or a dictionary (2)."""
    levels = ((3, _I32, RLE), (4, _I32, RLE)) if kind == 0 else ()
    header = thrift((1, _I32, values), (2, _I32, encoding), *levels)
    sizes = (len(body) if size is None else size for size in (unpacked, packed))
    fields = ((number, _I32, size) for number, size in zip((2, 3), sizes, strict=True))
    return thrift((1, _I32, kind), *fields, (5 if kind == 0 else 7, _STRUCT, header)) + body


def texts(*values):
    return b"".join(struct.pack("<I", len(value)) + value for value in values)


def run_length(value, count, width=1):
    """`count` times the same number, in the encoding of levels and dictionary indices."""
    return varint(count << 1) + value.to_bytes((width + 7) // 8, "little")


@dataclass(frozen=True)
class Column:
    """One column: its pages, and what its header says of them where that is not the truth."""

    name: bytes
    kind: int
    pages: bytes
    dictionary: bytes = b""
    repetition: int = REQUIRED
    codec: int = UNPACKED
    values: int | None = None
    offset: int | None = None
    size: int | None = None

    def header(self, start, rows):
        content = self.dictionary + self.pages
        at = start + len(self.dictionary) if self.offset is None else self.offset
        described = thrift(
            (1, _I32, self.kind),
            (2, _LIST, listed(_I32, [PLAIN, RLE])),
            (3, _LIST, listed(_BINARY, [self.name])),
            (4, _I32, self.codec),
            (5, _I64, rows if self.values is None else self.values),
            (6, _I64, len(content)),
            (7, _I64, len(content) if self.size is None else self.size),
            (9, _I64, at),
            (11, _I64, start if self.dictionary else None),
        )
        return thrift((2, _I64, start), (3, _STRUCT, described))

    def element(self):
        text = 0 if self.kind == BYTES else None
        return thrift((1, _I32, self.kind), (3, _I32, self.repetition), (4, _BINARY, self.name), (6, _I32, text))


def dictionary_column(name, kind, entry, rows, pages=1):
    """A column of one value, as often as claimed."""
    dictionary = page(entry, 1, kind=2)
    each = rows // pages
    return Column(name, kind, page(b"\1" + run_length(0, each), each, DICTIONARY) * pages, dictionary)


def columns(rows=4, **others):
    """The columns of a small score table, some of them replaced."""
    held = {
        "query_id": Column(b"query_id", BYTES, page(texts(*[b"q"] * rows), rows)),
        "doc_id": Column(b"doc_id", BYTES, page(texts(*(b"d%d" % i for i in range(rows))), rows)),
        "retriever": Column(b"retriever", FLOAT, page(struct.pack(f"<{rows}f", *range(rows)), rows)),
        "reranker": Column(b"reranker", DOUBLE, page(struct.pack(f"<{rows}d", *range(rows)), rows)),
    }
    return list((held | others).values())


def constant_columns(rows, pages=1):
    """The same row over and over, in next to no bytes."""
    one = {"query_id": texts(b"q"), "doc_id": texts(b"d"), "retriever": bytes(4), "reranker": bytes(8)}
    kinds = {"query_id": BYTES, "doc_id": BYTES, "retriever": FLOAT, "reranker": DOUBLE}
    return [dictionary_column(name.encode(), kinds[name], one[name], rows, pages) for name in one]


def columns_with_long_texts(name):
    """One text of a hundred thousand letters, meant as often."""
    long = dictionary_column(name, BYTES, texts(b"d" * 100_000), 10**5)
    return [each for each in constant_columns(10**5) if each.name != name] + [long]


@dataclass(frozen=True)
class File:
    """A whole file; what is None is the truth."""

    columns: list = field(default_factory=columns)
    rows: int = 4
    claimed_rows: int | None = None
    group_rows: int | None = None
    groups: int = 1
    claimed_groups: int | None = None
    claimed_chunks: int | None = None
    children: int | None = None
    nested: int = 0
    footer_length: int | None = None
    arrow_schema: bytes | None = None

    def content(self):
        body, headers = b"PAR1", []
        for column in self.columns:
            headers.append(column.header(len(body), self.rows))
            body += column.dictionary + column.pages
        group = thrift(
            (1, _LIST, listed(_STRUCT, headers, self.claimed_chunks)),
            (2, _I64, len(body)),
            (3, _I64, self.rows if self.group_rows is None else self.group_rows),
        )
        footer = thrift(
            (1, _I32, 1),
            (2, _LIST, listed(_STRUCT, self._schema())),
            (3, _I64, self.rows if self.claimed_rows is None else self.claimed_rows),
            (4, _LIST, listed(_STRUCT, [group] * self.groups, self.claimed_groups)),
            (5, _LIST, None if self.arrow_schema is None else listed(_STRUCT, [self._extra()])),
        )
        length = len(footer) if self.footer_length is None else self.footer_length
        return body + footer + struct.pack("<I", length) + b"PAR1"

    def _extra(self):
        return thrift((1, _BINARY, b"ARROW:schema"), (2, _BINARY, base64.b64encode(self.arrow_schema)))

    def _schema(self):
        extra = [thrift((3, _I32, 0), (4, _BINARY, b"group"), (5, _I32, 1))] * self.nested
        leaf = [thrift((1, _I32, 1), (3, _I32, 0), (4, _BINARY, b"leaf"))] if self.nested else []
        children = len(self.columns) + bool(self.nested) if self.children is None else self.children
        root = thrift((4, _BINARY, b"root"), (5, _I32, children))
        return [root, *(column.element() for column in self.columns), *extra, *leaf]


def arrow_schema(depth):
    """The columns as Arrow has them, the first one inside so many others."""
    first = pa.string()
    for _ in range(depth):
        first = pa.struct([("", first)])
    others = [("doc_id", pa.string()), ("retriever", pa.float32()), ("reranker", pa.float64())]
    return pa.schema([("query_id", first), *others]).serialize().to_pybytes()


def _reranker(pages, **claims):
    return File(columns(reranker=Column(b"reranker", DOUBLE, pages, **claims)))


_NUMBERS = struct.pack("<4d", *range(4))
_MANY = 2**31 - 1

LIES = {
    "no rows at all": File(claimed_rows=0),
    "rows without number": File(claimed_rows=2**60, rows=2**60, group_rows=2**60),
    "a footer of more rows": File(claimed_rows=2**31),
    "a group of more rows": File(group_rows=2**31),
    "negative rows": File(claimed_rows=-1),
    "a group of negative rows": File(group_rows=-4),
    "two billion equal rows": File(constant_columns(2 * 10**9), 2 * 10**9),
    "ten million equal rows": File(constant_columns(10**7), 10**7),
    "a trillion equal rows in pages": File(constant_columns(10**12, 1000), 10**12),
    "the same group many times": File(groups=10_000, claimed_rows=40_000),
    "a list of groups without end": File(claimed_groups=2**28),
    "a list of columns without end": File(claimed_chunks=2**24),
    "a longer schema": File(children=_MANY),
    "a negative schema": File(children=-1),
    "columns within columns without end": File(nested=200_000),
    "an Arrow schema without end": File(arrow_schema=arrow_schema(2000)),
    "a longer footer": File(footer_length=2**32 - 1),
    "a column beyond the file": _reranker(page(_NUMBERS, 4), offset=2**40),
    "a column before the file": _reranker(page(_NUMBERS, 4), offset=-5),
    "a larger column": _reranker(page(_NUMBERS, 4), size=2**40),
    "a negative column": _reranker(page(_NUMBERS, 4), size=-1),
    "a column of more values": _reranker(page(_NUMBERS, 4), values=2**40),
    "a page of more values": _reranker(page(_NUMBERS, _MANY)),
    "a page of negative values": _reranker(page(struct.pack("<I", 2) + run_length(1, 4) + _NUMBERS, -1), repetition=1),
    "a page that becomes gigabytes": _reranker(page(b"\x20\x7c" + _NUMBERS, 4, unpacked=_MANY), codec=SNAPPY),
    "a page larger than the file": _reranker(page(_NUMBERS, 4, packed=_MANY)),
    "a negative page": _reranker(page(_NUMBERS, 4, packed=-1)),
    "a dictionary of more entries": _reranker(
        page(b"\1" + run_length(0, 4), 4, DICTIONARY), dictionary=page(bytes(8), _MANY, kind=2)
    ),
    "an index beyond the dictionary": _reranker(
        page(b"\x08" + run_length(77, 4, 8), 4, DICTIONARY), dictionary=page(bytes(8), 1, kind=2)
    ),
    "a delta of no blocks": _reranker(page(varint(128) + varint(0) + varint(4) + zigzag(0), 4, DELTA)),
    "prefixes that add up": File(columns(doc_id=Column(b"doc_id", BYTES, page(bytes(40), 4, DELTA_BYTES)))),
    "a text longer than its page": File(
        columns(doc_id=Column(b"doc_id", BYTES, page(struct.pack("<I", 2**32 - 1), 4)))
    ),
    "a long id many times": File(columns_with_long_texts(b"doc_id"), 10**5),
}
"""Files that claim what is not so; each is a few hundred bytes, or what its schema takes."""

LONG_NAMES = {
    "a long query id many times": File(columns_with_long_texts(b"query_id"), 10**5),
    "a long group many times": File(columns_with_long_texts(b"group"), 10**5),
}
"""The same with what is read before any list is."""

TRUTHS = {
    "a small table": File(),
    "an Arrow schema": File(arrow_schema=arrow_schema(0)),
    "levels": _reranker(page(struct.pack("<I", 2) + run_length(1, 4) + _NUMBERS, 4), repetition=OPTIONAL),
    "a dictionary": File(constant_columns(100_000), 100_000),
    "pages": File(constant_columns(1000, 10), 1000),
}
