"""Zips: a member is read as it is, and refused when it is packed oddly or becomes too much."""

import io
import zipfile

import pytest

from surecut import InputError
from surecut.system.archives import opened_member


@pytest.fixture
def archive(tmp_path):
    """Write a zip of these files, packed by this method."""

    def write(method=zipfile.ZIP_DEFLATED, **files):
        with zipfile.ZipFile(tmp_path / "data.zip", "w", method) as made:
            for name, content in files.items():
                made.writestr(name.replace("_", "/"), content)
        return tmp_path / "data.zip"

    return write


def drained(file):
    while file.read(1 << 20):
        pass


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_the_member_nearest_to_the_top_is_read(archive, method):
    path = archive(method, deep_below_a=b"far", x_a=b"near", xa=b"other")
    with opened_member(path, "a") as file:
        assert file.read() == b"near"


def test_a_member_that_is_not_there_is_missing(archive):
    with pytest.raises(FileNotFoundError):
        opened_member(archive(xa=b""), "a")


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_another_way_of_packing_is_refused(archive, method):
    with pytest.raises(InputError, match=r"data\.zip: a is packed in a way that is not read here"):
        opened_member(archive(method, a=b"content"), "a")


def test_a_member_that_becomes_far_too_much_is_refused_on_the_way(archive):
    path = archive(a=bytes(200 << 20))
    assert path.stat().st_size < 300_000
    with opened_member(path, "a") as file, pytest.raises(InputError, match=r"data\.zip/a: .* become more than"):
        drained(file)


def test_a_size_that_lies_does_not_help(archive):
    """The claimed size of the packed content counts only as far as the archive goes."""
    path = archive(a=bytes(200 << 20))
    content = bytearray(path.read_bytes())
    entry = content.rfind(b"PK\x01\x02")
    content[entry + 20 : entry + 24] = (2**31).to_bytes(4, "little")
    path.write_bytes(content)
    with opened_member(path, "a") as file, pytest.raises((InputError, zipfile.BadZipFile, EOFError)):
        drained(file)


@pytest.mark.parametrize("content", [b"", b"PK", b"PK\x05\x06" + bytes(18)[:-1], b"no zip at all", b"PK\3\4" * 20])
def test_what_is_no_zip_is_named(tmp_path, content):
    (tmp_path / "data.zip").write_bytes(content)
    with pytest.raises(InputError, match=r"data\.zip: "):
        opened_member(tmp_path / "data.zip", "a")


def test_a_password_is_named(archive):
    path = archive(a=b"secret")
    content = bytearray(path.read_bytes())
    for magic, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.find(magic) + place] |= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match="encrypted"):
        opened_member(path, "a").read()


def test_lines_are_read_from_a_member(archive):
    with opened_member(archive(a=b"one\ntwo\n"), "a") as file:
        assert isinstance(file, io.BufferedReader)
        assert list(file) == [b"one\n", b"two\n"]
