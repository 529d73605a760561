"""Sizes and lines: what is within a limit is read, what is beyond is refused without being read."""

import io

import pytest

from surecut import InputError
from surecut.io.limits import LONGEST_LINE, most_unpacked, numbered_lines, read_document, refuse_long_lines


class Endless(io.RawIOBase):
    """Zeros without end, that count how many were read."""

    def __init__(self):
        self.read_so_far = 0

    def readable(self):
        return True

    def readinto(self, buffer):
        buffer[:] = bytes(len(buffer))
        self.read_so_far += len(buffer)
        return len(buffer)


@pytest.mark.parametrize("ending", [b"", b"\n"])
@pytest.mark.parametrize("before", [0, 1, LONGEST_LINE // 2, LONGEST_LINE, 3 * LONGEST_LINE])
def test_a_line_may_be_as_long_as_the_limit_wherever_it_is(before, ending):
    short = (b"x" * 49 + b"\n") * (before // 50)
    refuse_long_lines(io.BytesIO(short + b"x" * LONGEST_LINE + ending), "some.run")
    with pytest.raises(InputError, match=rf"some\.run: the line at byte {len(short):,} is longer than 1,048,576"):
        refuse_long_lines(io.BytesIO(short + b"x" * (LONGEST_LINE + 1) + ending + short), "some.run")


def test_a_long_line_in_a_sparse_file_is_found_at_once(tmp_path):
    with open(tmp_path / "hole", "wb") as file:
        file.write(b"q Q0 d 1 1.0 t\n")
        file.truncate(1 << 40)
    with open(tmp_path / "hole", "rb") as file, pytest.raises(InputError, match="the line at byte 15 is longer"):
        refuse_long_lines(file, "hole")


def test_lines_are_numbered_and_a_long_one_is_not_read():
    assert list(numbered_lines(io.BytesIO(b"a\n\nbc"), "some", 2)) == [(1, b"a\n"), (2, b"\n"), (3, b"bc")]
    endless = Endless()
    with pytest.raises(InputError, match=r"some, line 1: longer than 1,000 bytes"):
        list(numbered_lines(io.BufferedReader(endless), "some", 1000))
    assert endless.read_so_far < 100_000


def test_a_document_is_read_up_to_its_limit(tmp_path):
    (tmp_path / "text").write_text("naïve")
    assert read_document(tmp_path / "text", 6) == "naïve"
    with pytest.raises(InputError, match="text: more than 5 bytes"):
        read_document(tmp_path / "text", 5)


@pytest.mark.parametrize(
    ("name", "complaint"),
    [("absent", "No such file"), (".", "Is a directory"), ("loop", "symbolic links"), ("binary", "not a text file")],
)
def test_what_is_no_document_is_named(tmp_path, name, complaint):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=complaint):
        read_document(tmp_path / name, 100)
    with pytest.raises(InputError, match="cannot be opened"):
        read_document("\0", 100)


def test_packed_bytes_may_become_many_times_as_many_but_not_any_number():
    assert most_unpacked(1) == 64 << 20
    assert most_unpacked(1 << 30) == 200 << 30
