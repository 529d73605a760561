"""Lists that are needed again and again, in files that are mapped into memory: the system keeps what fits of them."""

import os
from collections.abc import Iterable
from dataclasses import replace
from tempfile import TemporaryFile, gettempdir
from typing import TypeVar

import numpy as np

from surecut.arrays import Array
from surecut.candidates import Candidates
from surecut.errors import InputError
from surecut.joining import joined

A = TypeVar("A", bound=Array)


class Spool:
    """A column that grows in a file without a name, which is gone when nobody uses it any more."""

    def __init__(self) -> None:
        self._folder = os.environ.get("TMPDIR") or gettempdir()  # Python passes over one that cannot be written to
        try:
            self._file = TemporaryFile(dir=self._folder)  # noqa: SIM115 (open as long as it is mapped)
        except OSError as error:
            raise self._unwritable(error) from None

    def put(self, column: A) -> A:
        """Keep the numbers; what is returned has none."""
        try:
            self._file.write(np.ascontiguousarray(column).data)
            self._file.flush()
        except OSError as error:
            raise self._unwritable(error) from None
        return column[:0].copy()  # type: ignore[return-value]

    def _unwritable(self, error: OSError) -> InputError:
        reason = error.strerror or error
        return InputError(f"{self._folder}: cannot be written ({reason}); name another folder with TMPDIR")

    def mapped(self, empty: A) -> A:
        """All of them, mapped; `empty` says of what kind they are."""
        if self._file.tell() == 0:  # an empty file cannot be mapped
            return empty
        return np.memmap(self._file, dtype=empty.dtype, mode="r")  # type: ignore[return-value]


def spooled(pieces: Iterable[Candidates]) -> Candidates:
    """Pieces one after the other, which have no document ids; the columns with a number for every row are mapped."""
    retriever, reranker, grades = Spool(), Spool(), Spool()
    small = [
        replace(
            piece,
            retriever=retriever.put(piece.retriever),
            reranker=None if piece.reranker is None else reranker.put(piece.reranker),
            grades=grades.put(piece.grades),
        )
        for piece in pieces
    ]
    whole = joined(small)
    return replace(
        whole,
        retriever=retriever.mapped(whole.retriever),
        reranker=None if whole.reranker is None else reranker.mapped(whole.reranker),
        grades=grades.mapped(whole.grades),
    )
