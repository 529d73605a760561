"""surecut sign, and what every verb does with signatures where keys are trusted."""

import json
import stat

import pytest
from tests.running import VERBS as ALL
from tests.signed import key, public
from tests.tampering import redigested

import surecut as sc
from surecut.keyfiles import read_public_keys


@pytest.fixture
def cert(certificate, tmp_path):
    """A copy of the certificate that may be written to."""
    path = tmp_path / "cert.json"
    path.write_bytes(certificate.read_bytes())
    return path


@pytest.fixture
def signed(surecut, cert):
    assert surecut("sign", "cert.json", "--key", key()).status == 0
    return cert


def fingerprint(name="own"):
    return read_public_keys(public(name))[0].fingerprint


def test_a_key_is_made_and_signs_in_place(shell, cert, tmp_path):
    made = shell("sign", "--new-key", "key.pem")
    assert made.status == 0
    assert made.out == ""
    assert stat.S_IMODE((tmp_path / "key.pem").stat().st_mode) == 0o600
    (own,) = read_public_keys(tmp_path / "key.pub.pem")
    assert own.fingerprint in made.err
    ended = shell("sign", "cert.json", "--key", "key.pem")
    assert ended.status == 0
    assert ended.err == f"signed with key {own.fingerprint}; written to cert.json\n"
    assert sc.load_certificate(cert, trusted=tmp_path / "key.pub.pem").signature.key == own
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cert.json", "key.pem", "key.pub.pem"]


def test_what_is_signed_may_go_elsewhere_or_through_a_pipe(shell, cert, tmp_path):
    plain = cert.read_bytes()
    assert shell("sign", "cert.json", "--key", key(), "-o", "signed.json").status == 0
    assert cert.read_bytes() == plain
    piped = shell("sign", "-", "--key", key(), stdin=plain)
    assert piped.out == (tmp_path / "signed.json").read_text()
    assert piped.err == f"signed with key {fingerprint()}\n"
    assert shell("--trusted-keys", public(), "show", "-", stdin=piped.out.encode()).status == 0


def test_signing_again_says_whose_signature_it_replaces(surecut, signed, monkeypatch):
    monkeypatch.setenv("SURECUT_TRUSTED_KEYS", str(public("ci")))
    ended = surecut("sign", "cert.json", "--key", key("ci"))
    assert ended.status == 0, "whoever signs need not trust who signed before"
    assert f"signed with key {fingerprint('ci')}, in place of key {fingerprint()}" in ended.err


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ([], "give a certificate and a key"),
        (["cert.json"], "give a certificate and a key"),
        (["--key", "key.pem"], "give a certificate and a key"),
        (["cert.json", "--new-key", "new.pem"], "give it alone"),
        (["--new-key", "cert.json"], "keys are not overwritten"),
        (["cert.json", "--key", "absent.pem"], "absent.pem: No such file"),
        (["cert.json", "--key", "cert.json"], "not a private key in PEM"),
        (["absent.json", "--key", "key.pem"], "absent.json"),
        (["cert.json", "--key", "key.pem", "-o", "no/folder/signed.json"], "cannot be written"),
    ],
)
def test_what_cannot_be_signed_is_one_line_and_changes_nothing(surecut, cert, tmp_path, given, complaint):
    before = cert.read_bytes()
    ended = surecut("sign", *given)
    assert ended.status == 2
    assert complaint in ended.err
    assert ended.err.count("\n") == 1
    assert cert.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["cert.json"]


def test_an_edited_certificate_is_not_signed(surecut, cert):
    cert.write_text(cert.read_text().replace('"confidence": 0.9', '"confidence": 0.99'))
    ended = surecut("sign", "cert.json", "--key", key())
    assert ended.status == 2
    assert "the digest does not match" in ended.err


def test_show_says_who_signed_it_and_whether_that_is_trusted(surecut, certificate, signed):
    assert surecut("show", certificate).words.endswith("signature: none")
    assert f"signature: key {fingerprint()} (not checked: no keys are trusted here)" in surecut("show", signed).words
    assert f"signature: key {fingerprint()} (trusted)" in surecut("--trusted-keys", public(), "show", signed).words
    record = json.loads(surecut("show", signed, "--json").out)
    assert record["signature"] == json.loads(signed.read_text())["signature"]
    assert "signature" not in json.loads(surecut("show", certificate, "--json").out)


def test_verify_says_it_too(surecut, systems, certificate, signed):
    options = systems["calibration"].options
    ended = surecut("--trusted-keys", public(), "verify", signed, *options)
    assert ended.status == 0
    assert f"signature key {fingerprint()} (trusted)" in ended.words
    assert json.loads(surecut("verify", signed, *options, "--json").out)["signed_with"] == fingerprint()
    assert json.loads(surecut("verify", certificate, *options, "--json").out)["signed_with"] is None


VERBS = {
    "show": "show {}",
    "prune": "prune {} --retriever {ret}",
    "check": "check {} --retriever {ret} --reranker {rer} --qrels {qrels}",
    "verify": "verify {} --retriever {ret} --reranker {rer} --qrels {qrels}",
    "report": "report {} --retriever {ret} --reranker {rer} --qrels {qrels} --format md",
    "export": "export {} --to vespa",
    "diff": "diff {} {}",
    "rank": "rank {} tiny.toml --query words",
    "speedup": "speedup {} tiny.toml",
    "monitor start": "monitor start {}",
    "monitor add": "monitor add {} --retriever {ret}",
    "monitor show": "monitor show {}",
    "monitor restart": "monitor restart {}",
    "recalibrate": "recalibrate {}",
    "serve": "serve {}",
}
"""Every verb that takes a certificate, and a command line of it."""


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("how", ["option", "environment"])
def test_every_verb_refuses_what_is_not_signed_with_a_trusted_key(surecut, systems, signed, monkeypatch, verb, how):
    runs = systems["calibration"]
    names = {"ret": runs.retriever, "rer": runs.reranker, "qrels": runs.qrels}
    command = VERBS[verb].format("cert.json", "cert.json", **names).split()
    told = []
    if how == "option":
        told = ["--trusted-keys", public("ci")]
        monkeypatch.setenv("SURECUT_TRUSTED_KEYS", str(public()))
    else:
        monkeypatch.setenv("SURECUT_TRUSTED_KEYS", str(public("ci")))
    ended = surecut(*told, *command)
    assert ended.status == 2
    assert f"cert.json: signed with key {fingerprint()}, which is not the trusted key" in ended.err
    assert ended.out == ""
    assert ended.err.count("\n") == 1


def test_no_verb_that_takes_a_certificate_is_left_out():
    takes = {
        name
        for name, verb in ALL.items()
        for each in verb.params
        if each.param_type_name == "argument" and each.metavar in ("cert.json", "cert.json ...", "old.json")
    }
    assert takes == {*VERBS, "sign"}


@pytest.mark.parametrize("verb", ["show", "prune", "check", "verify", "report", "diff"])
def test_verbs_take_what_is_signed_with_a_trusted_key(surecut, systems, signed, verb):
    runs = systems["calibration"]
    names = {"ret": runs.retriever, "rer": runs.reranker, "qrels": runs.qrels}
    command = VERBS[verb].format("cert.json", "cert.json", **names).split()
    trusted = surecut("--trusted-keys", public(), *command)
    assert trusted.status == 0, trusted.err
    assert surecut(*command).status == 0


def test_a_signed_certificate_is_exported_like_any_other(surecut, systems, tmp_path):
    made = ["calibrate", *systems["calibration"].options, "--max-drop", "20%", "--rule", "score", "--min-keep", 0]
    surecut(*made, "-o", "plain.json")
    surecut("sign", "plain.json", "--key", key(), "-o", "signed.json")
    shown = surecut("--trusted-keys", public(), "export", "signed.json", "--to", "vespa")
    assert shown.status == 0
    assert shown.out == surecut("export", "plain.json", "--to", "vespa").out


def test_a_change_that_only_a_signature_shows(surecut, signed):
    """Somebody who can make the digest fit again is stopped by the signature alone."""
    record = json.loads(signed.read_text())
    signed.write_text(redigested({**record, "confidence": 0.99}))
    assert surecut("show", "cert.json").status == 0
    ended = surecut("--trusted-keys", public(), "show", "cert.json")
    assert ended.status == 2
    assert "the signature does not fit" in ended.err


def test_the_help_names_the_option_for_all_verbs(surecut):
    shown = surecut("--help")
    assert "--trusted-keys" in shown.out
    assert "SURECUT_TRUSTED_KEYS" in shown.out
