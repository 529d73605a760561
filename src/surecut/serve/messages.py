"""What goes over the wire, as JSON or as MessagePack: declared once, checked while it is read."""

from collections.abc import Sequence
from typing import Annotated, Any

from surecut.extras import needed

needed("msgspec", "serve")

import msgspec  # noqa: E402

from surecut.monitoring.feedback import Feedback, Name, complaint  # noqa: E402
from surecut.monitoring.standing import Point, Standing  # noqa: E402


class Message(msgspec.Struct, forbid_unknown_fields=True):
    """Something that is sent or received; a field it does not have is an error."""


class Query(Message):
    """One query's candidates, in any order but worst first, which is how distances come.

    `scores` are the retriever's, one a candidate: numbers, or as bytes the 32-bit floats themselves, little endian (in
    JSON: base64 of them). `ids` are the documents' and break ties as in calibration. `id` is the query's own, by which
    the monitor knows it: only queries that have one are sampled.
    """

    scores: Sequence[float] | bytes
    ids: Sequence[str] | None = None
    id: Name | None = None


class Queries(Message):
    """Several queries at once."""

    queries: Sequence[Query]


class Survivors(Message):
    """Which candidates to rerank, best first: their ids, or their positions where they have none.

    `certificate` is the digest of the one that decided, to be sent with feedback. `fallback` says that nothing was
    pruned, because it is not believed any more.
    """

    survivors: Sequence[str | int]
    kept: int
    candidates: int
    certificate: str
    fallback: bool = False


class AllSurvivors(Message):
    """The survivors of each query, in the order of the queries."""

    results: Sequence[Survivors]


class Document(Message):
    """A candidate with its text and the retriever's score."""

    id: str
    score: float
    text: str


class RankQuery(Message):
    """A query and its candidates with their texts."""

    query: Annotated[str, msgspec.Meta(min_length=1)]
    documents: Sequence[Document]
    id: Name | None = None


class Placed(Message):
    """A document of the final list; one that was pruned and follows in retriever order has no reranker score."""

    id: str
    retriever: float
    reranker: float | None
    score: float | None


class RankedList(Message):
    """The final list, as the certificate says it is made."""

    documents: Sequence[Placed]
    kept: int
    candidates: int
    certificate: str
    fallback: bool = False


class FeedbackBatch(Message):
    """Feedback on queries of the traffic: all of it is counted, or none."""

    records: Sequence[Feedback]


class Counted(Message):
    """What became of feedback: how many records each stream counted, how many said nothing new, how many were about
    lists that were served under another certificate.
    """

    records: int
    counted: dict[str, int]
    known: int
    others: int


class Info(Message):
    """A certificate that is served, and how it stands.

    `tail` and `fusion` say how the final list is made: the claim is about that list. `problem` says why the file as it
    is now is not the one in use.
    """

    name: str
    status: str
    statement: str
    digest: str
    depth: int
    mean_kept: float
    tail: str
    fusion: float
    loaded: float
    belief: str | None = None
    falls_back: bool = False
    problem: str | None = None


class Certificates(Message):
    """All certificates that are served."""

    certificates: Sequence[Info]


class OneCertificate(Message):
    """A certificate with all it says."""

    info: Info
    certificate: dict[str, Any]


class Monitored(Message):
    """How a certificate stands, and its evidence over time (natural logarithms)."""

    standing: Standing
    history: dict[str, Sequence[Point]]


class Health(Message):
    """Is it there?"""

    status: str
    version: str


class Problem(Message):
    """Why a request was refused, in one sentence."""

    error: str


JSON, MSGPACK = "application/json", "application/msgpack"
MEDIA_TYPES = (JSON, MSGPACK)


def encoded(message: Any, media_type: str) -> bytes:
    return msgspec.msgpack.encode(message) if media_type == MSGPACK else msgspec.json.encode(message)


class Malformed(Exception):
    """A body that is not what it should be; the sentence says where."""


def decoded(body: bytes, media_type: str, kind: type[Any]) -> Any:
    """A message of that kind."""
    try:
        return (
            msgspec.msgpack.decode(body, type=kind) if media_type == MSGPACK else msgspec.json.decode(body, type=kind)
        )
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Malformed(complaint(error)) from None


def schemas(*kinds: type[Any]) -> dict[str, Any]:
    """Their JSON schemas, by name, as OpenAPI keeps them."""
    _, components = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    return components
