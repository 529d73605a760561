"""JSON that every reader understands alike; the rest is refused in a sentence."""

import json

import pytest

from surecut import InputError
from surecut.io.plain_json import parse_json


@pytest.mark.parametrize(
    "value",
    [None, True, 0, -3, 2**63 - 1, 1 - 2**63, 0.1, -1e308, 5e-324, "naïve\U0001d11e", [], {}, {"a": [1, {"b": None}]}],
)
@pytest.mark.parametrize("ascii_only", [True, False])
def test_what_json_writes_is_read(value, ascii_only):
    assert parse_json(json.dumps(value, ensure_ascii=ascii_only), "x") == value


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", r"not a whole JSON document; .* \(expecting value, line 1\)"),
        ('{"a": 1', "not a whole JSON document"),
        ('{\n"a": 1}}', r"not a whole JSON document; .* \(extra data, line 2\)"),
        ("\ufeff{}", "not a whole JSON document"),
        ('{"a": 1, "b": {"c": 1, "c": 1}}', "the key 'c' is there twice"),
        ("[NaN]", "NaN is no number of JSON"),
        ("-Infinity", "-Infinity is no number of JSON"),
        ("1e999", "the number 1e999 is beyond 64 bits"),
        (f"{2**63}", "the number 9223372036854775808 is beyond 64 bits"),
        ("-" + "9" * 100_000, "the number -9{19} is beyond 64 bits"),
        ('"\\ud800"', "holds half of a surrogate pair"),
        ('{"\\udfff": 1}', "holds half of a surrogate pair"),
        ("[" * 100_000, "nested too deep"),
        ("[" * 100 + "]" * 100, "nested too deep"),
        ('{"a":' * 100_000, "nested too deep"),
    ],
)
def test_what_readers_disagree_about_is_refused(text, complaint):
    with pytest.raises(InputError, match=f"^some.json: {complaint}"):
        parse_json(text, "some.json")


def test_a_certificate_is_not_too_deep():
    assert parse_json("[" * 63 + "]" * 63, "x")
