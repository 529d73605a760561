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
        _refuse_another_folder()
        self._file = TemporaryFile()  # noqa: SIM115 (open as long as it is mapped)

    def put(self, column: A) -> A:
        """Keep the numbers; what is returned has none."""
        try:
            self._file.write(np.ascontiguousarray(column).data)
            self._file.flush()
        except OSError as error:
            reason = f"{error.strerror or error}; name a folder with more room with TMPDIR"
            raise InputError(f"{gettempdir()}: cannot be written ({reason})") from None
        return column[:0].copy()  # type: ignore[return-value]

    def mapped(self, empty: A) -> A:
        """All of them, mapped; `empty` says of what kind they are."""
        if self._file.tell() == 0:  # an empty file cannot be mapped
            return empty
        return np.memmap(self._file, dtype=empty.dtype, mode="r")  # type: ignore[return-value]


def _refuse_another_folder() -> None:
    """Python itself would pass over a folder that cannot be written to, and fill the system's disk."""
    named, used = os.environ.get("TMPDIR"), gettempdir()
    if named and os.path.realpath(named) != os.path.realpath(used):
        raise InputError(f"{named}: TMPDIR names it, and it is no folder that can be written to")


def spooled(pieces: Iterable[Candidates]) -> Candidates:
    """Pieces one after the other, without document ids; the columns with a number for every row are mapped."""
    retriever, reranker, grades = Spool(), Spool(), Spool()
    small = [
        replace(
            piece,
            retriever=retriever.put(piece.retriever),
            reranker=None if piece.reranker is None else reranker.put(piece.reranker),
            grades=grades.put(piece.grades),
            doc_ids=None,
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
