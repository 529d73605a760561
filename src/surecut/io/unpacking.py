"""Streams of text, plain or packed by gzip, bz2 or zstd, read in pieces: none can become more than it may."""

import bz2
import codecs
import gzip
import io
import zlib
from typing import IO, Any

from surecut.errors import InputError
from surecut.io.limits import LONGEST_LINE, long_line, most_unpacked
from surecut.memory import available

_GZIP, _BZ2, _ZSTD = b"\x1f\x8b", b"BZh", b"\x28\xb5\x2f\xfd"
_PIECE = 1 << 20
_ZSTD_PIECE = 2048  # four bytes may become 128 KiB, and the library unpacks all that it is given at once


DAMAGED = (OSError, EOFError, zlib.error)
"""What reading a damaged file raises, whatever it is packed by."""


def is_packed(head: bytes) -> bool:
    """Do these first bytes say gzip, bz2 or zstd?"""
    return head.startswith((_GZIP, _BZ2, _ZSTD))


def unpacked(file: io.BufferedReader, name: object) -> io.BufferedReader:
    """What a file holds, unpacked as it is read; a plain file is read as it is."""
    packed = _Counted(file)
    opened = _decoder(file.peek(len(_ZSTD)), packed)
    return file if opened is None else io.BufferedReader(Bounded(opened, packed.count, name), _PIECE)


def text_lines(file: io.BufferedReader, name: object) -> bytes:
    """All that a stream of lines holds, unpacked; refused as soon as it is no text, or more than memory holds."""
    content, free = io.BytesIO(), available()
    lines = _Lines(name)
    with unpacked(file, name) as stream:
        while piece := stream.read(_PIECE):
            lines.check(piece)
            content.write(piece)
            if free is not None and content.tell() > free // 2:
                raise InputError(f"{name}: does not fit in memory; give it in parts, or shorter lists")
    return content.getvalue()


class Bounded(io.RawIOBase):
    """A stream of unpacked bytes that ends with a complaint when it outgrows what it is unpacked from."""

    def __init__(self, stream: IO[bytes], packed: Any, name: object) -> None:
        self._stream, self._packed, self._name, self._produced = stream, packed, name, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self._stream.read(len(buffer))
        self._produced += len(piece)
        if self._produced > most_unpacked(self._packed()):
            raise InputError(
                f"{self._name}: {self._packed():,} packed bytes become more than {self._produced:,}, as no run or "
                "collection does; unpack it yourself if you trust it"
            )
        buffer[: len(piece)] = piece
        return len(piece)


class _Lines:
    """Looks at a stream of lines, piece by piece."""

    def __init__(self, name: object) -> None:
        self._name, self._start, self._seen = name, 0, 0
        self._decoder = codecs.getincrementaldecoder("utf-8")()

    def check(self, piece: bytes) -> None:
        """Refuse a line that is too long, and what is no UTF-8."""
        first = piece.find(b"\n")
        if self._seen + (len(piece) if first < 0 else first) - self._start > LONGEST_LINE:
            raise long_line(self._name, self._start)
        if first >= 0:
            self._start = self._seen + piece.rfind(b"\n") + 1
        self._seen += len(piece)
        if not piece.isascii() or self._decoder.getstate()[0]:
            try:
                self._decoder.decode(piece)
            except UnicodeDecodeError:
                raise not_text(self._name) from None


def not_text(name: object) -> InputError:
    """What to say of bytes that are no text."""
    return InputError(f"{name}: not a text file in UTF-8, or a damaged compressed one")


class _Counted:
    """A file that knows how much of it was read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._read = file, 0

    def read(self, size: int = -1) -> bytes:
        piece = self._file.read(size)
        self._read += len(piece)
        return piece

    def count(self) -> int:
        return self._read


def _decoder(head: bytes, packed: Any) -> Any:
    if head.startswith(_GZIP):
        return gzip.GzipFile(fileobj=packed, mode="rb")
    if head.startswith(_BZ2):
        return bz2.BZ2File(packed)
    return _Zstd(packed) if head.startswith(_ZSTD) else None


class _Zstd:
    """Frames of zstd, one after the other; zstandard's own reader takes a file that was cut short for a whole one."""

    def __init__(self, packed: _Counted) -> None:
        import zstandard

        self._open, self._error = zstandard.ZstdDecompressor, zstandard.ZstdError
        self._packed, self._frame, self._ready = packed, self._open().decompressobj(), b""

    def read(self, size: int) -> bytes:
        while not self._ready and self._advance():
            pass
        piece, self._ready = self._ready[:size], self._ready[size:]
        return piece

    def _advance(self) -> bool:
        """Unpack a little more; there is no more to come when this says so."""
        ended = self._frame.eof
        packed = self._frame.unused_data or self._packed.read(_ZSTD_PIECE)
        if not packed:
            if not ended:
                raise EOFError("it ends in the middle of a frame")
            return False
        if ended:
            self._frame = self._open().decompressobj()
        try:
            self._ready = self._frame.decompress(packed)
        except self._error as error:
            raise OSError(str(error)) from None
        return True
