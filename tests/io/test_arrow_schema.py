"""The Arrow schema inside Parquet: honest ones of any kind pass, those that lead nowhere are refused."""

import base64
import contextlib
import struct

import pyarrow as pa
import pytest

from surecut.io.arrow_schema import refuse_deep_schema
from surecut.io.thrift import Malformed


def encoded(*fields, metadata=None):
    return base64.b64encode(pa.schema(list(fields), metadata).serialize().to_pybytes())


def within(depth):
    kind = pa.int32()
    for _ in range(depth):
        kind = pa.struct([("inner", kind)])
    return encoded(("outer", kind))


@pytest.mark.parametrize(
    "schema",
    [
        encoded(),
        encoded(("a", pa.string())),
        encoded(*((f"c{i}", pa.float64()) for i in range(2000))),
        encoded(("a", pa.list_(pa.struct([("b", pa.map_(pa.string(), pa.int8()))]))), ("c", pa.decimal128(10, 2))),
        encoded(("a", pa.dictionary(pa.int32(), pa.string())), metadata={"pandas": "x" * 10_000}),
        within(50),
    ],
)
def test_honest_schemas_pass(schema):
    refuse_deep_schema(schema)


@pytest.mark.parametrize("depth", [65, 500, 900])
def test_fields_within_fields_without_end_are_refused(depth):
    with pytest.raises(Malformed, match="fields within fields without end"):
        refuse_deep_schema(within(depth))


def test_more_fields_than_any_table_has_are_not_followed():
    kind = pa.int32()
    for _ in range(17):
        kind = pa.struct([("a", kind), ("b", kind)])
    with pytest.raises(Malformed, match="more fields than any table"):
        refuse_deep_schema(encoded(("outer", kind)))


def test_a_vector_that_claims_more_than_there_is_is_refused():
    content = bytearray(base64.b64decode(encoded(("a", pa.string()), ("b", pa.string()))))
    places = [at for at in range(0, len(content) - 4, 4) if struct.unpack_from("<I", content, at)[0] == 2]
    for at in places:
        changed = bytearray(content)
        struct.pack_into("<I", changed, at, 2**31)
        with contextlib.suppress(Malformed):
            refuse_deep_schema(base64.b64encode(changed))
    assert places


@pytest.mark.parametrize("content", [b"!", b"", b"AAAA", base64.b64encode(b"\xff" * 40)])
def test_what_is_no_schema_is_refused(content):
    with pytest.raises(Malformed, match="an Arrow schema that is none"):
        refuse_deep_schema(content)
