"""Records with the right digest and the wrong content: what loads works, what does not is refused with its field."""

import json
from dataclasses import fields

import pytest

from surecut import InputError
from surecut.certificate import Certificate, _digest, parse_certificate
from surecut.structure import _schema, _whole_numbers
from tests.test_certificate import CERTIFICATE, made_in_every_way


def signed(record):
    """The JSON of a record, with the digest that belongs to it."""
    record = {name: value for name, value in record.items() if name != "digest"}
    return json.dumps({**record, "digest": _digest(record)})


def changed(way, value):
    """The certificate with one field set otherwise."""
    record = json.loads(CERTIFICATE.to_json())
    holder = record
    *outer, last = way.split(".")
    for step in outer:
        holder = holder[step]
    holder[last] = value
    return signed(record)


def test_the_schema_describes_the_record():
    described, _ = _schema()
    assert set(described["properties"]) == {*described["required"], "signature"}
    assert set(described["properties"]) == {each.name for each in fields(Certificate)} | {"digest"}


def test_every_certificate_that_is_made_loads():
    for certificate in made_in_every_way():
        assert parse_certificate(signed(json.loads(certificate.to_json()))) == certificate


@pytest.mark.parametrize(
    ("way", "value"),
    [
        ("depth", "20"),
        ("depth", 0),
        ("depth", 2**31),
        ("depth", True),
        ("depth", None),
        ("status", "splendid"),
        ("statement", ["a", "b"]),
        ("statement", "two\nlines"),
        ("statement", "\x1b[2J"),
        ("statement", "x" * 100_000),
        ("measure", 10),
        ("measure", "Overlap@many"),
        ("measure", "((((" * 100),
        ("target", {}),
        ("target", {"kind": "agreement", "value": 0.5}),
        ("target.value", 1),
        ("target.value", "0.5"),
        ("confidence", None),
        ("rule", {"name": "softmax"}),
        ("rule.name", "softmin"),
        ("rule.parameters", []),
        ("rule.parameters", {"scale": 0}),
        ("rule.parameters", {"scale": "1"}),
        ("rule.parameters", {"rank_prior": -1}),
        ("rule.parameters", {"temperature": 1}),
        ("rule", {"name": "rank", "parameters": {"scale": 1}}),
        ("threshold", "-inf"),
        ("threshold", []),
        ("min_keep", -1),
        ("max_keep", 0),
        ("fusion", {"beta": 2, "fitted": False}),
        ("fusion.beta", None),
        ("assumptions", "none"),
        ("assumptions", [None]),
        ("tune", []),
        ("calibration.queries", 0),
        ("calibration.queries", 2**60),
        ("calibration.mean_kept", "few"),
        ("calibration.kept_quantiles", {"p50": 1}),
        ("calibration.kept_quantiles.p99", 1.5),
        ("calibration.fingerprint", "f"),
        ("calibration.scores", {"lowest": 0}),
        ("calibration.scores.lowest", "low"),
        ("system", {"retriever": 1}),
        ("system", []),
        ("relaxed", {}),
        ("relaxed", {"value": 2}),
        ("relaxed", {"published_level": 0.5}),
        ("advice", {"queries": 1}),
        ("tail", ["drop"]),
    ],
)
def test_a_field_that_is_not_as_described_is_named(way, value):
    with pytest.raises(InputError, match=rf"^cert\.json: {way.partition('.')[0]}.*make it again with `surecut calib"):
        parse_certificate(changed(way, value), "cert.json")


@pytest.mark.parametrize("way", [".".join(way) for way in _whole_numbers(*(lambda s: (s, s["$defs"]))(_schema()[0]))])
def test_whole_numbers_are_written_without_a_point(way):
    record = json.loads(CERTIFICATE.to_json())
    for step in way.split(".")[:-1]:
        record = record[step] or {}
    if record.get(way.rpartition(".")[2]) is None:
        pytest.skip("not in this certificate")
    with pytest.raises(InputError, match=rf"{way}: 3\.0 is not written as a whole number"):
        parse_certificate(changed(way, 3.0))


@pytest.mark.parametrize("status", ["relaxed-target", "relaxed-confidence"])
def test_what_is_relaxed_says_to_what(status):
    with pytest.raises(InputError, match="relaxed"):
        parse_certificate(changed("status", status))


def test_an_unknown_field_and_a_missing_one_are_named():
    record = json.loads(CERTIFICATE.to_json())
    with pytest.raises(InputError, match="note"):
        parse_certificate(signed({**record, "note": "fine"}))
    del record["tail"]
    with pytest.raises(InputError, match="tail"):
        parse_certificate(signed(record))
