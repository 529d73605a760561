"""Any bytes, and good files with changes in them: every reader answers with data or with one sentence."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surecut import InputError
from surecut.certificate import _digest, parse_certificate
from tests.hostile.readers import TARGETS, certificates, one_sentence, work

every_reader = pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
quietly = settings(deadline=None, max_examples=60, derandomize=True)


@st.composite
def damaged(draw, seeds):
    """A good file with bytes changed, taken out, put in or repeated."""
    content = bytearray(draw(st.sampled_from(seeds)))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, max(0, len(content) - 1)))
        end = min(len(content), start + draw(st.integers(0, 16)))
        piece = bytes(content[start:end])
        content[start:end] = draw(
            st.one_of(
                st.binary(max_size=12),
                st.sampled_from([b"", piece * 2, piece[::-1], b"\xff" * 9, b"\0", b"\n", b" ", b"1e999", b'"', b"[["]),
            )
        )
    return bytes(content)


@every_reader
@quietly
@given(data=st.data())
def test_any_bytes_are_read_or_refused(target, data):
    target.answer(data.draw(st.binary(max_size=300)))


@every_reader
@quietly
@given(data=st.data())
def test_damaged_files_are_read_or_refused(target, data):
    target.answer(data.draw(damaged(target.seeds())))


@every_reader
def test_good_files_are_read(target):
    for content in target.seeds():
        answer = target.answer(content)
        if target is TARGETS["recipe"]:
            continue  # its collection is not there
        assert not isinstance(answer, InputError), answer


def _ways(record, way=()):
    """The way to every value inside a record."""
    yield way
    inside = record.items() if isinstance(record, dict) else enumerate(record) if isinstance(record, list) else ()
    for step, value in inside:
        yield from _ways(value, (*way, step))


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0, 1, -1, 0.0, 1.0, 0.5, 1e308, -1e308, 5e-324, 2**31 - 1, 2**31 - 2, 2**53 - 1]),
    st.sampled_from(["", "inf", "-inf", "nan", "[/]", "[bold", "Overlap@3", "RR@0", "AP(rel=2)", "%s", "-->", "*/"]),
    st.text(max_size=20),
    st.lists(st.integers(), max_size=3),
    st.dictionaries(st.text(max_size=5), st.integers(), max_size=3),
)


@settings(deadline=None, max_examples=400, derandomize=True)
@given(data=st.data())
def test_a_record_with_other_values_and_its_own_digest_works_or_is_refused(data):
    record = json.loads(data.draw(st.sampled_from(certificates())).to_json())
    del record["digest"]
    for _ in range(data.draw(st.integers(1, 3))):
        *outer, last = data.draw(st.sampled_from([way for way in _ways(record) if way]))
        holder = record
        for step in outer:
            holder = holder[step]
        if isinstance(holder, dict) and data.draw(st.integers(0, 9)) == 0:
            del holder[last]
        else:
            holder[last] = data.draw(SCALARS)
    try:
        certificate = parse_certificate(json.dumps({**record, "digest": _digest(record)}))
    except InputError as error:
        one_sentence(error)
    else:
        work(certificate)
