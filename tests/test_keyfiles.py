"""Files of keys: those that openssl makes are read, others are refused in a sentence that gives nothing away."""

import os
import shutil
import stat
import subprocess

import pytest
from cryptography.hazmat.primitives import serialization as form
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

import surecut as sc
from surecut.keyfiles import PublicKey, read_private_key, read_public_keys, write_new_key
from tests.signed import certificate, key, public

OPENSSL = shutil.which("openssl")


def pem(private, passphrase=None):
    closed = form.NoEncryption() if passphrase is None else form.BestAvailableEncryption(passphrase)
    return private.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, closed)


def public_pem(private):
    return private.public_key().public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)


def test_a_new_key_is_for_its_owner_only_and_comes_with_its_public_key(tmp_path):
    made, beside = write_new_key(tmp_path / "key.pem")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["key.pem", "key.pub.pem"]
    assert beside == tmp_path / "key.pub.pem"
    assert stat.S_IMODE((tmp_path / "key.pem").stat().st_mode) == 0o600
    assert read_public_keys(beside) == (made,)
    assert read_private_key(tmp_path / "key.pem").public_key().public_bytes_raw() == made.raw
    assert made != write_new_key(tmp_path / "another.pem")[0]


@pytest.mark.parametrize("there", ["key.pem", "key.pub.pem"])
def test_a_key_that_is_there_is_not_overwritten(tmp_path, there):
    (tmp_path / there).write_text("precious")
    with pytest.raises(sc.InputError, match="not overwritten"):
        write_new_key(tmp_path / "key.pem")
    assert [path.name for path in tmp_path.iterdir()] == [there]
    assert (tmp_path / there).read_text() == "precious"


def test_a_key_is_not_left_without_its_public_key(tmp_path, monkeypatch):
    opened = os.open

    def full(path, *arguments):
        if str(path).endswith(".pub.pem"):
            raise OSError(28, "No space left on device")
        return opened(path, *arguments)

    monkeypatch.setattr(os, "open", full)
    with pytest.raises(sc.InputError, match="No space left"):
        write_new_key(tmp_path / "key.pem")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("where", ["-", "", "no/folder/key.pem"])
def test_a_place_where_no_key_can_be_is_named(tmp_path, monkeypatch, where):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(sc.InputError):
        write_new_key(where)


def test_an_encrypted_key_wants_its_passphrase_and_does_not_tell_it(tmp_path, monkeypatch):
    private = ed25519.Ed25519PrivateKey.generate()
    (tmp_path / "key.pem").write_bytes(pem(private, b"open sesame"))
    monkeypatch.delenv("SURECUT_KEY_PASSPHRASE", raising=False)
    with pytest.raises(sc.InputError, match="put its passphrase in SURECUT_KEY_PASSPHRASE"):
        read_private_key(tmp_path / "key.pem")
    monkeypatch.setenv("SURECUT_KEY_PASSPHRASE", "open barley")
    with pytest.raises(sc.InputError, match="does not open it") as refused:
        read_private_key(tmp_path / "key.pem")
    assert "barley" not in str(refused.value)
    monkeypatch.setenv("SURECUT_KEY_PASSPHRASE", "open sesame")
    assert read_private_key(tmp_path / "key.pem").private_bytes_raw() == private.private_bytes_raw()
    assert read_private_key(key()) is not None, "a passphrase does not hinder a key that has none"


def test_a_new_key_is_encrypted_where_there_is_a_passphrase(tmp_path, monkeypatch):
    monkeypatch.setenv("SURECUT_KEY_PASSPHRASE", "open sesame")
    write_new_key(tmp_path / "key.pem")
    assert b"ENCRYPTED" in (tmp_path / "key.pem").read_bytes()
    assert sc.sign(certificate(), tmp_path / "key.pem").signature is not None
    monkeypatch.delenv("SURECUT_KEY_PASSPHRASE")
    with pytest.raises(sc.InputError, match="encrypted"):
        sc.sign(certificate(), tmp_path / "key.pem")


def test_other_kinds_of_keys_are_refused(tmp_path):
    others = (rsa.generate_private_key(65537, 2048), ec.generate_private_key(ec.SECP256R1()))
    for private in others:
        (tmp_path / "key.pem").write_bytes(pem(private))
        with pytest.raises(sc.InputError, match="not an Ed25519 key"):
            read_private_key(tmp_path / "key.pem")
        (tmp_path / "keys.pem").write_bytes(public().read_bytes() + public_pem(private))
        with pytest.raises(sc.InputError, match=r"keys\.pem, key 2: not an Ed25519 key"):
            read_public_keys(tmp_path / "keys.pem")


def test_what_is_no_private_key_is_refused_without_showing_it(tmp_path):
    (tmp_path / "secret.txt").write_text("my diary")
    for path in (tmp_path / "secret.txt", public()):
        with pytest.raises(sc.InputError, match="not a private key in PEM") as refused:
            read_private_key(path)
        assert "diary" not in str(refused.value)
    with pytest.raises(sc.InputError, match="No such file"):
        read_private_key(tmp_path / "absent.pem")


def test_a_file_may_hold_several_public_keys_and_words_between_them(tmp_path):
    (tmp_path / "keys.pem").write_bytes(
        b"# the team\n" + public().read_bytes() + b"\n# CI\n" + public("ci").read_bytes()
    )
    assert read_public_keys(tmp_path / "keys.pem") == read_public_keys(public()) + read_public_keys(public("ci"))


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (lambda: b"", "not a PEM file of whole public keys"),
        (lambda: b"\x00\xff", "not a text file in UTF-8"),
        (lambda: public().read_bytes()[:-20], "not a PEM file of whole public keys"),
        (lambda: public().read_bytes() + public("ci").read_bytes()[:-20], "not a PEM file of whole public keys"),
        (lambda: public().read_bytes() + b"-----BEGIN CERTIFICATE-----\n", "not a PEM file of whole public keys"),
        (lambda: public().read_bytes().replace(b"\nM", b"\nQ"), "key 1: not a public key that can be read"),
        (lambda: public().read_bytes() + key().read_bytes(), "holds a private key"),
    ],
)
def test_a_file_that_is_not_all_public_keys_is_refused(tmp_path, content, complaint):
    (tmp_path / "keys.pem").write_bytes(content())
    with pytest.raises(sc.InputError, match=complaint):
        read_public_keys(tmp_path / "keys.pem")


@pytest.mark.skipif(OPENSSL is None, reason="openssl is not there")
def test_keys_of_openssl_are_read_and_named_as_it_would(tmp_path):
    def openssl(*arguments):
        return subprocess.run([OPENSSL, *arguments], cwd=tmp_path, check=True, capture_output=True).stdout

    openssl("genpkey", "-algorithm", "ed25519", "-out", "key.pem")
    openssl("pkey", "-in", "key.pem", "-pubout", "-out", "key.pub.pem")
    (own,) = read_public_keys(tmp_path / "key.pub.pem")
    signed = sc.sign(certificate(), tmp_path / "key.pem")
    assert signed.signature.key == own
    signed.save(tmp_path / "cert.json")
    assert sc.load_certificate(tmp_path / "cert.json", trusted=tmp_path / "key.pub.pem") == certificate()
    (tmp_path / "key.der").write_bytes(openssl("pkey", "-pubin", "-in", "key.pub.pem", "-outform", "DER"))
    assert openssl("dgst", "-sha256", "-r", "key.der").decode()[:32] == own.fingerprint


def test_a_fingerprint_is_of_the_key_alone():
    assert PublicKey(bytes(32)).fingerprint == PublicKey(bytes(32)).fingerprint
    assert PublicKey(bytes(32)).fingerprint != PublicKey(bytes(31) + b"\x01").fingerprint
