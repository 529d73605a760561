"""Feedback: what became of one query of the traffic, told at once or bit by bit under one id."""

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import IO, Annotated, Any, get_type_hints

import numpy as np

from surecut.candidates import Candidates
from surecut.errors import InputError
from surecut.extras import needed
from surecut.io.limits import numbered_lines

needed("msgspec", "monitor")

import msgspec  # noqa: E402

LONGEST_FEEDBACK = 4 * 2**20
"""Bytes of a record: 10,000 candidates with long ids, both scores and a judgement each take less."""
_LONGEST_KEPT = 64 * 2**20

Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Grade = Annotated[int, msgspec.Meta(ge=-(2**31), lt=2**31)]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=512, pattern="^[^\\x00]*$")]
"""An id, without the one character that databases do not keep."""


class Feedback(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One query of the traffic.

    `id` is the query's own, made by whoever serves it: the same id twice is counted once. Everything else may come at
    once or later, under the same id: the candidates `ids` with the `retriever`'s scores; the `reranker`'s for all of
    them (shadow reranking); `judgements`, the grade of each judged document. Whoever measures for himself gives
    figures instead: `measured`, the measure (or loss) of the list that was served, `full`, that of the list with
    nothing pruned, and `overlap` with its top k. `certificate` is the digest of the one that the list was served
    under, as the service says it: what was served under another one is not counted.
    """

    id: Name
    ids: Sequence[str] | None = None
    retriever: Sequence[float] | None = None
    reranker: Sequence[float] | None = None
    judgements: dict[str, Grade] | None = None
    measured: Share | None = None
    full: Share | None = None
    overlap: Share | None = None
    certificate: str | None = None

    def __post_init__(self) -> None:
        for name, kind in _kinds().items():
            if (value := getattr(self, name)) is not None:
                msgspec.structs.force_setattr(self, name, _checked(name, value, kind))
        self.id.encode()  # refuses half of a surrogate pair
        if (self.retriever is None) != (self.ids is None):
            raise InputError("ids and retriever belong together: the candidates and the retriever's scores")
        for what, column in (("retriever", self.retriever), ("reranker", self.reranker)):
            if column is not None and self.ids is not None and len(column) != len(self.ids):
                raise InputError(f"{len(self.ids)} ids and {len(column)} {what} scores: one each is expected")

    def completed_by(self, later: "Feedback") -> "Feedback":
        """With what it lacks taken from what was told later; what was told before stays."""
        lacking = {
            name: getattr(later, name)
            for name in self.__struct_fields__
            if getattr(self, name) is None and getattr(later, name) is not None
        }
        try:
            return msgspec.structs.replace(self, **lacking) if lacking else self
        except ValueError as error:
            raise InputError(f"feedback '{self.id}', with what was told of it before: {error}") from None

    def packed(self) -> bytes:
        """As it is kept."""
        return zlib.compress(msgspec.msgpack.encode(self), 1)

    @staticmethod
    def unpacked(content: bytes) -> "Feedback":
        """From what was kept; a ValueError if that is damaged."""
        try:
            return _kept.decode(zlib.decompressobj().decompress(content, _LONGEST_KEPT))
        except (zlib.error, msgspec.MsgspecError) as error:
            raise ValueError(str(error)) from None


@cache
def _kinds() -> dict[str, Any]:
    """What each field holds."""
    return get_type_hints(Feedback, include_extras=True)


def _checked(name: str, value: Any, kind: Any) -> Any:
    """A value as it is kept, whoever made the record; numpy's numbers and arrays are numbers and lists."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        pass
    try:
        return msgspec.convert(_plain(value), kind)
    except msgspec.ValidationError as error:
        raise InputError(f"{name}: {complaint(error)}") from None


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Mapping):
        return {_plain(key): _plain(each) for key, each in value.items()}
    return value if isinstance(value, str) or not isinstance(value, Iterable) else [_plain(each) for each in value]


_kept = msgspec.msgpack.Decoder(Feedback)
_line = msgspec.json.Decoder(Feedback)


def read_feedback(stream: IO[bytes], name: str) -> Iterator[Feedback]:
    """One record a line of JSON; the first wrong line is named."""
    for number, line in numbered_lines(stream, name, LONGEST_FEEDBACK):
        if line.strip():
            yield _parsed(line, f"{name}, line {number:,}")


def _parsed(line: bytes, where: str) -> Feedback:
    try:
        return _line.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{where}: {complaint(error)}") from None


def complaint(error: Exception) -> str:
    """What a decoder found wrong, in one line."""
    if isinstance(error, RecursionError):
        return "nested too deep"
    return " ".join(str(error).replace("`", "'").split())


def as_feedback(data: Candidates) -> Iterator[Feedback]:
    """What run files or a score table say of each query."""
    from surecut.io.table import judgements, to_frame

    grades: dict[str, dict[str, int]] = {}
    for query, document, grade in judgements(data).iter_rows():
        grades.setdefault(query, {})[document] = grade
    rows: dict[str, list[Any]] = to_frame(data).to_dict(as_series=False)
    for q, (low, high) in enumerate(zip(data.offsets[:-1].tolist(), data.offsets[1:].tolist(), strict=True)):
        query = str(data.query_ids[q])
        yield Feedback(
            query,
            rows["doc_id"][low:high],
            rows["retriever"][low:high],
            rows["reranker"][low:high] if "reranker" in rows else None,
            grades.get(query),
        )
