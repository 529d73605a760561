"""Packed streams: real ones are read whole, those that would fill the memory are refused on the way."""

import bz2
import gzip
import io

import pytest
import zstandard

from surecut import InputError
from surecut.io import unpacking
from surecut.io.limits import LONGEST_LINE
from surecut.io.unpacking import DAMAGED, is_packed, text_lines, unpacked

TEXT = "".join(f"q{i % 7} Q0 d{i} 1 {i / 3:.4f} naïve\n" for i in range(20_000)).encode()
PACKERS = {"gzip": gzip.compress, "bz2": bz2.compress, "zstd": zstandard.ZstdCompressor(write_checksum=True).compress}

packed_by = pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)


def buffered(content):
    return io.BufferedReader(io.BytesIO(content))


def drained(stream, taken):
    """Read all of a stream, and note how much."""
    while piece := stream.read(1 << 20):
        taken.append(len(piece))


@packed_by
def test_what_was_packed_is_unpacked(pack):
    assert is_packed(pack(TEXT))
    assert text_lines(buffered(pack(TEXT)), "some.run") == TEXT
    assert list(unpacked(buffered(pack(TEXT)), "some.run")) == TEXT.splitlines(keepends=True)


@packed_by
def test_parts_packed_one_by_one_are_one_file(pack):
    parts = pack(TEXT[:1000]) + pack(b"") + pack(TEXT[1000:])
    assert text_lines(buffered(parts), "some.run") == TEXT


@packed_by
@pytest.mark.parametrize("share", [0.001, 0.3, 0.999])
def test_a_file_that_was_cut_short_is_damaged(pack, share):
    packed = pack(TEXT)
    with pytest.raises(DAMAGED):
        text_lines(buffered(packed[: max(4, int(share * len(packed)))]), "some.run")


@packed_by
def test_a_file_with_another_byte_in_it_is_damaged_or_reads_otherwise(pack):
    packed = bytearray(pack(TEXT))
    packed[len(packed) // 2] ^= 0xFF
    with pytest.raises((*DAMAGED, InputError)):
        text_lines(buffered(bytes(packed)), "some.run")


@packed_by
def test_a_file_that_becomes_far_too_much_is_refused_on_the_way(pack):
    bomb = pack(b"q Q0 d 1 1.0 t\n" * 500_000) * 40
    assert len(bomb) < 1_500_000
    stream, taken = unpacked(buffered(bomb), "some.run"), []
    with pytest.raises(InputError, match=r"some\.run: [\d,]+ packed bytes become more than [\d,]+, as no run"):
        drained(stream, taken)
    assert sum(taken) < 200 << 20


def test_plain_text_is_left_alone():
    assert not is_packed(TEXT)
    assert text_lines(buffered(TEXT), "-") == TEXT
    assert text_lines(buffered(b""), "-") == b""


@pytest.mark.parametrize("before", [0, 7, LONGEST_LINE - 3, LONGEST_LINE, 2 * LONGEST_LINE + 5])
def test_a_long_line_is_refused_while_it_is_read(before):
    short = b"x" * min(before, 50) + b"\n"
    start = short * (before // len(short))
    assert text_lines(buffered(start + b"x" * LONGEST_LINE + b"\n"), "-")
    for end in (b"", b"\n", b"\n" + short * 99_999):
        with pytest.raises(InputError, match=rf"-: the line at byte {len(start):,} is longer"):
            text_lines(buffered(start + b"x" * (LONGEST_LINE + 1) + end), "-")


def test_characters_across_pieces_are_whole(monkeypatch):
    monkeypatch.setattr(unpacking, "_PIECE", 3)
    assert text_lines(buffered("aé文\U0001d11e\nb".encode()), "-").decode() == "aé文\U0001d11e\nb"
    with pytest.raises(InputError, match="-: not a text file in UTF-8"):
        text_lines(buffered(b"abcde\xe6\x96\nabc"), "-")


def test_what_does_not_fit_in_memory_is_refused_while_it_comes(monkeypatch):
    monkeypatch.setattr(unpacking, "available", lambda: 10 << 20)
    with pytest.raises(InputError, match="-: does not fit in memory"):
        text_lines(buffered(b"q Q0 d 1 1.0 t\n" * 1_000_000), "-")
