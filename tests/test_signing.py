"""Signatures: whatever is not signed with a trusted key, exactly as it is, is refused where keys are trusted."""

import json
import pickle
import sys
from dataclasses import replace
from importlib.resources import files

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

import surecut as sc
from surecut.certificate import parse_certificate
from surecut.integrations.stage import Stage, as_certificate, as_record
from surecut.keyfiles import read_public_keys
from tests.signed import certificate, key, public, signed
from tests.tampering import changed, changes, dotted, fields, redigested, said


def file_of(certificate):
    return json.loads(certificate.to_json())


def refused(record, **options):
    """Why a record is refused where the own key is trusted."""
    with pytest.raises(sc.InputError) as error:
        parse_certificate(json.dumps(record), "cert.json", trusted=options.get("trusted", public()))
    return str(error.value)


def test_a_signed_certificate_survives_a_file(tmp_path):
    signed().save(tmp_path / "cert.json")
    for trusted in (public(), str(public()), read_public_keys(public()), False, None):
        loaded = sc.load_certificate(tmp_path / "cert.json", trusted=trusted)
        assert loaded == certificate()
        assert loaded.signature == signed().signature
        assert loaded.to_json() == signed().to_json()


def test_a_signature_is_no_part_of_what_is_said():
    assert signed() == certificate()
    assert signed().digest == certificate().digest
    assert signed().to_dict() == certificate().to_dict()
    assert signed().canonical() == certificate().canonical()
    record = file_of(signed())
    del record["signature"]
    assert record == file_of(certificate()), "a certificate that is not signed is written as ever"
    assert "signature" not in certificate().to_json()


def test_a_signed_certificate_follows_the_json_schema():
    described = json.loads((files("surecut") / "certificate.schema.json").read_text(encoding="utf-8"))
    validator = jsonschema.validators.validator_for(described)(described)
    assert list(validator.iter_errors(file_of(signed()))) == []
    assert list(validator.iter_errors(file_of(signed()) | {"signature": {"algorithm": "rsa"}}))


@pytest.mark.parametrize(("path", "value"), list(fields(said(certificate()))), ids=lambda each: str(each)[:40])
def test_no_field_of_a_signed_certificate_can_be_changed(path, value):
    for other in changes(dotted(path), value):
        record = json.loads(redigested(changed(file_of(signed()), path, other)))
        try:
            parse_certificate(json.dumps(record), trusted=False)
        except sc.InputError:  # no certificate at all, signed or not
            continue
        assert "the signature does not fit" in refused(record)


@given(st.sampled_from(("key", "value")), st.integers(0, 32 * 8 - 1))
def test_no_bit_of_a_signature_or_its_key_can_be_flipped(part, place):
    signature = signed().signature
    raw = bytearray(signature.key.raw if part == "key" else signature.value)
    raw[place // 8] ^= 1 << place % 8
    other = replace(signature, key=replace(signature.key, raw=bytes(raw))) if part == "key" else None
    other = other or replace(signature, value=bytes(raw))
    sentence = refused(file_of(replace(signed(), signature=other)))
    assert ("which is not the trusted key" if part == "key" else "the signature does not fit") in sentence


def test_a_signature_of_another_certificate_does_not_fit():
    other = replace(certificate(), confidence=0.95)
    moved = replace(other, signature=signed().signature)
    assert "the signature does not fit" in refused(file_of(moved))
    assert parse_certificate(moved.to_json(), trusted=False).signature == signed().signature


def test_a_signature_over_the_digest_alone_does_not_fit():
    """What is signed begins with words of its own, and is all that the certificate says."""
    from surecut.keyfiles import read_private_key

    private = read_private_key(key())
    for message in (certificate().digest.encode(), certificate().canonical()):
        forged = replace(signed(), signature=replace(signed().signature, value=private.sign(message)))
        assert "the signature does not fit" in refused(file_of(forged))


def test_an_unsigned_one_is_refused_where_keys_are_trusted():
    sentence = refused(file_of(certificate()))
    assert sentence.startswith("cert.json: not signed")
    assert "surecut sign" in sentence


def test_a_key_that_is_not_trusted_is_named(tmp_path):
    sentence = refused(file_of(signed("stranger")))
    assert signed("stranger").signature.key.fingerprint in sentence
    assert "which is not the trusted key" in sentence
    (tmp_path / "keys.pem").write_bytes(public().read_bytes() + public("ci").read_bytes())
    assert "not one of the 2 trusted keys" in refused(file_of(signed("stranger")), trusted=tmp_path / "keys.pem")
    for name in ("own", "ci"):
        assert parse_certificate(signed(name).to_json(), trusted=tmp_path / "keys.pem") == certificate()


def test_a_certificate_may_be_signed_again():
    again = sc.sign(signed("stranger"), key())
    assert again.signature == signed().signature
    assert parse_certificate(again.to_json(), trusted=public()) == certificate()


@pytest.mark.parametrize(
    ("signature", "complaint"),
    [
        (None, "needs 'algorithm', 'key' and 'value'"),
        ("text", "needs 'algorithm', 'key' and 'value'"),
        ({}, "needs 'algorithm', 'key' and 'value'"),
        ({"note": "x"}, "needs 'algorithm', 'key' and 'value'"),
        ({"algorithm": "rsa"}, "another algorithm than ed25519"),
        ({"key": 3}, "not base64"),
        ({"key": "?"}, "not base64"),
        ({"value": "ü"}, "not base64"),
        ({"key": "AAAA"}, "too short or too long"),
        ({"value": "AAAA"}, "too short or too long"),
        ({"key": "A" * 42 + "B="}, "not base64"),  # bits that no byte takes up
    ],
)
@pytest.mark.parametrize("trusted", [False, True])
def test_a_signature_that_is_none_is_refused_by_every_reader(signature, complaint, trusted):
    record = file_of(signed())
    partly = isinstance(signature, dict) and signature
    record["signature"] = {**record["signature"], **signature} if partly else signature
    assert complaint in refused(record, trusted=public() if trusted else False)


@pytest.mark.parametrize("trusted", [(), [], True, b"key", 3, ["key.pem"]])
def test_no_keys_at_all_are_not_taken_for_no_demand(trusted):
    assert "trusted= is a file of public keys" in refused(file_of(certificate()), trusted=trusted)


def test_the_environment_is_asked_unless_told_otherwise(monkeypatch, tmp_path):
    signed().save(tmp_path / "signed.json")
    certificate().save(tmp_path / "plain.json")
    monkeypatch.setenv("SURECUT_TRUSTED_KEYS", str(public()))
    assert sc.load_certificate(tmp_path / "signed.json") == certificate()
    assert sc.load_certificate(tmp_path / "plain.json", trusted=False) == certificate()
    with pytest.raises(sc.InputError, match="not signed"):
        sc.load_certificate(tmp_path / "plain.json")
    with pytest.raises(sc.InputError, match="not the trusted key"):
        sc.load_certificate(tmp_path / "signed.json", trusted=public("ci"))
    monkeypatch.setenv("SURECUT_TRUSTED_KEYS", "")
    with pytest.raises(sc.InputError, match="names no file"):
        sc.load_certificate(tmp_path / "signed.json")
    monkeypatch.setenv("SURECUT_TRUSTED_KEYS", str(tmp_path / "absent.pem"))
    with pytest.raises(sc.InputError, match=r"absent\.pem"):
        sc.load_certificate(tmp_path / "signed.json")


def test_the_environment_guards_pipelines_too(monkeypatch, tmp_path):
    certificate().save(tmp_path / "plain.json")
    monkeypatch.setenv("SURECUT_TRUSTED_KEYS", str(public()))
    for given_as in (str(tmp_path / "plain.json"), file_of(certificate())):
        with pytest.raises(sc.InputError, match="not signed"):
            Stage(given_as, finishes=True)
        with pytest.raises(sc.InputError, match="not signed"):
            as_certificate(given_as)
    record = as_record(signed())
    assert Stage(record, finishes=True).certificate == certificate()
    assert as_record(record) == record
    assert Stage(certificate(), finishes=True), "one that is at hand was loaded, or made, before"


def test_a_ranker_is_guarded_before_it_reads_anything_else(monkeypatch, tmp_path):
    certificate().save(tmp_path / "plain.json")
    monkeypatch.setenv("SURECUT_TRUSTED_KEYS", str(public()))
    with pytest.raises(sc.InputError, match="not signed"):
        sc.Ranker(tmp_path / "plain.json", tmp_path / "absent.toml")


def test_without_the_library_nothing_is_trusted_and_the_rest_goes_on(monkeypatch):
    own = signed()
    for name in list(sys.modules):
        if name.startswith("cryptography"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    assert "pip install 'surecut[signing]'" in refused(file_of(own))
    assert "pip install 'surecut[signing]'" in refused(file_of(own), trusted=(own.signature.key,))
    assert parse_certificate(own.to_json()).signature.key.fingerprint == own.signature.key.fingerprint
    with pytest.raises(sc.InputError, match=r"surecut\[signing\]"):
        sc.sign(certificate(), key())


def test_signed_certificates_can_be_copied_and_changed_ones_show_it():
    assert pickle.loads(pickle.dumps(signed())).signature == signed().signature
    loosened = replace(signed(), threshold=0.0)
    assert "the signature does not fit" in refused(file_of(loosened))
