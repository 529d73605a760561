"""Records as they come: lines of JSON, bit by bit, or not at all."""

import contextlib
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import surecut as sc
from surecut.errors import InputError
from surecut.monitoring.feedback import Feedback, as_feedback, read_feedback


def read(*lines: bytes) -> list[Feedback]:
    return list(read_feedback(io.BytesIO(b"\n".join(lines)), "feedback.jsonl"))


def test_a_line_is_a_record_and_an_empty_one_is_none():
    found = read(b'{"id": "a", "measured": 0.5}', b"", b'{"id": "b", "ids": ["x"], "retriever": [2]}')
    assert found == [Feedback("a", measured=0.5), Feedback("b", ["x"], [2.0])]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (b'{"measured": 1}', "missing required field 'id'"),
        (b'{"id": ""}', "length >= 1"),
        (b'{"id": "a\\u0000b"}', "matching regex"),
        (b'{"id": "a", "score": 1}', "unknown field 'score'"),
        (b'{"id": "a", "measured": 1.5}', "<= 1"),
        (b'{"id": "a", "measured": NaN}', "malformed"),
        (b'{"id": "a", "ids": ["x"]}', "belong together"),
        (b'{"id": "a", "ids": ["x"], "retriever": [1, 2]}', "1 ids and 2 retriever scores"),
        (b'{"id": "a", "ids": ["x"], "retriever": [1e999]}', "out of range"),
        (b'{"id": "a", "judgements": {"x": 1.5}}', "Expected 'int'"),
        (b'{"id": "a", "judgements": {"x": 99999999999}}', "<= 2147483647"),
        (b"[" * 100_000, "Expected 'object'"),
        (b'{"id": "\xff"}', "invalid"),
        (b"", None),
    ],
)
def test_what_is_wrong_is_named_with_its_line(line, complaint):
    if complaint is None:
        assert read(line) == []
        return
    with pytest.raises(InputError, match=r"feedback\.jsonl, line 2: .*") as refused:
        read(b'{"id": "fine"}', line)
    assert complaint in str(refused.value)
    assert "\n" not in str(refused.value)


@given(st.binary(max_size=300))
def test_any_bytes_are_records_or_one_sentence(content):
    with contextlib.suppress(InputError):
        assert all(isinstance(each, Feedback) for each in read(content))


def test_a_record_is_kept_as_it_came():
    record = Feedback("a", ["x", "y"], [2.5, 1.0], [0.1, 0.30000000000000004], {"x": 2, "z": 1}, None, 0.5)
    assert Feedback.unpacked(record.packed()) == record


def test_data_become_records_and_records_data():
    from surecut.monitoring.measuring import as_candidates

    data = sc.read_table("example:scifact-bm25-minilm").split((0.1, 0.9))[0]
    again = as_candidates(list(as_feedback(data)), data.depth)
    assert again.fingerprint() == data.fingerprint()


def test_numbers_and_arrays_of_numpy_are_numbers_and_lists():
    record = Feedback(
        "a",
        ids=np.array(["x", "y"]),
        retriever=np.array([2, 1], dtype=np.float32),
        reranker=[np.float64(0.5), np.int64(1)],
        judgements={np.str_("x"): np.int64(1)},
        measured=np.float32(0.5),
    )
    assert Feedback.unpacked(record.packed()) == record
    assert (record.ids, record.retriever, record.reranker) == (["x", "y"], [2.0, 1.0], [0.5, 1.0])
    assert (record.judgements, record.measured) == ({"x": 1}, 0.5)


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": 5},
        {"id": ""},
        {"id": "a" * 600},
        {"id": "a\0"},
        {"id": "a", "ids": [1], "retriever": [1.0]},
        {"id": "a", "ids": ["d"], "retriever": ["1"]},
        {"id": "a", "ids": "d", "retriever": [1.0]},
        {"id": "a", "judgements": {"d": "1"}},
        {"id": "a", "judgements": {"d": 1.5}},
        {"id": "a", "judgements": {"d": None}},
        {"id": "a", "judgements": {"d": 2**40}},
        {"id": "a", "judgements": {1: 1}},
        {"id": "a", "measured": "0.5"},
    ],
)
def test_records_made_in_python_are_checked_like_any(wrong):
    with pytest.raises(InputError, match="Expected"):
        Feedback(**wrong)
