"""Every reader of bytes, and good bytes for it to start from: what the property tests and the fuzzers share."""

import bz2
import gzip
import io
import json
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec
import polars as pl
import zstandard

from surecut import InputError, agreement, at_least, calibrate, max_drop, read_table, simulate
from surecut.certificate import Certificate, _digest, load_certificate, parse_certificate
from surecut.cli.show import latex_row
from surecut.comparing import changes, setbacks
from surecut.export import ENGINES
from surecut.io.groups import read_groups
from surecut.io.parquet import read_parquet
from surecut.io.plain_json import parse_json
from surecut.io.table import as_parquet, judgements, read_meta, to_frame
from surecut.io.trec import read_qrels, read_run
from surecut.io.unpacking import DAMAGED, text_lines, unpacked
from surecut.keyfiles import read_private_key, read_public_keys, write_new_key
from surecut.monitoring.feedback import Feedback, read_feedback
from surecut.monitoring.monitor import Monitor
from surecut.monitoring.store import Store
from surecut.monitoring.streams import STREAMS
from surecut.serve import messages
from surecut.serve.limits import read_keys
from surecut.signing import sign
from surecut.system.recipe import read_recipe
from surecut.system.records import read_records
from surecut.system.sources import Beir


@dataclass(frozen=True)
class Target:
    """A reader of one file, and files that it reads."""

    read: Callable[[Path], object]
    seeds: Callable[[], list[bytes]]
    name: str = "file"

    def answer(self, content: bytes) -> object:
        """What the reader makes of the bytes: data, or the one kind of error that a user may see."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / self.name
            path.write_bytes(content)
            try:
                return self.read(path)
            except InputError as error:
                return one_sentence(error)


@cache
def data():
    """A small judged system."""
    return simulate("dense-electra", queries=60, depth=8, seed=3, ties=True)


@cache
def certificates() -> list[Certificate]:
    """Certificates of several kinds."""
    return [
        calibrate(data(), target=max_drop(0.5)),
        calibrate(data(), target=at_least(0.9), if_unreachable="relax-target"),
        calibrate(data(), target=at_least(0.44), if_unreachable="relax-confidence"),
        calibrate(data(), target=max_drop(0.001)),
        calibrate(data(), target=agreement(0.6, 5), rule="rank", max_keep=6),
        calibrate(data(), target=max_drop(0.5), rule="score", min_keep=0),
        calibrate(data(), target=at_least(0.9), procedure="paper"),
    ]


def work(certificate: Certificate) -> None:
    """Do with a certificate whatever the verbs do; where one of them cannot, it says so."""
    scores = [9.0, 7.5, 7.5, 3.0, -1.0]
    again = parse_certificate(certificate.to_json())
    assert again == certificate
    steps: list[Callable[[], object]] = [
        lambda: certificate.keep(scores, any_length=True, any_system=True),
        lambda: certificate.keep(scores),
        lambda: certificate.survivors(scores[::-1], any_length=True, any_system=True),
        lambda: certificate.check(data(), any_length=True, any_system=True),
        lambda: (certificate.most_kept, certificate.prunes, certificate.speedup),
        lambda: latex_row(certificate),
        lambda: changes(certificates()[0], certificate),
        lambda: setbacks(certificates()[0], certificate, 0.1, 0.1),
        lambda: _shown(certificate),
        *(lambda name=name: certificate.export(name, metric="dot", shards=1) for name in ENGINES.names()),
        *(lambda name=name: certificate.export(name) for name in ENGINES.names()),
    ]
    for step in steps:
        try:
            step()
        except InputError as error:
            one_sentence(error)


def one_sentence(error: InputError) -> InputError:
    """An error that a person can read in a line."""
    assert "\n" not in error.sentence
    assert len(error.sentence) < 2500
    return error


def _shown(certificate: Certificate) -> None:
    from rich.console import Console

    from surecut.cli import printing

    printing.out, before = Console(file=io.StringIO()), printing.out
    try:
        printing.print_certificate(certificate, 6.7)
    finally:
        printing.out = before


def _load_and_work(path: Path) -> None:
    work(load_certificate(path))


def _sign_and_work(path: Path) -> None:
    """The same with the digest that belongs to the record, so that changes get past it."""
    record = parse_json(path.read_text(encoding="utf-8", errors="replace"), path)
    if isinstance(record, dict):
        record.pop("digest", None)
        path.write_text(json.dumps({**record, "digest": _digest(record)}))
    _load_and_work(path)


def _table(path: Path) -> object:
    path.rename(path.with_name("candidates.parquet"))
    return read_table(path.parent)


def _judged_table(path: Path) -> object:
    path.rename(path.with_name("qrels.parquet"))
    path.with_name("candidates.parquet").write_bytes(_tables()[0])
    return read_table(path.parent)


def _meta(path: Path) -> object:
    path.with_name("candidates.parquet").write_bytes(_tables()[0])
    return read_meta(path.parent), read_table(path.parent)


def _unpack(path: Path) -> object:
    try:
        with path.open("rb") as file:
            list(unpacked(file, path))
        with path.open("rb") as file:
            return text_lines(file, path)
    except DAMAGED:
        return None


def _beir(path: Path) -> object:
    source = Beir(path)
    answers = []
    for part in (lambda: list(source.documents()), lambda: list(source.queries()), source.qrels):
        try:
            answers.append(part())
        except InputError as error:
            answers.append(error)
    return answers


def _feedback(path: Path) -> object:
    with path.open("rb") as file:
        return list(read_feedback(file, str(path)))


def _messages(path: Path) -> object:
    """Whatever is sent to the service, as JSON and as MessagePack."""
    answers: list[object] = []
    for kind in (messages.Query, messages.Queries, messages.RankQuery, messages.FeedbackBatch):
        for form in messages.MEDIA_TYPES:
            try:
                answers.append(messages.decoded(path.read_bytes(), form, kind))
            except messages.Malformed as error:
                answers.append(one_sentence(InputError(str(error))))
    return answers


_KEPT = [f"dense-electra-{number}" for number in range(30)]


def _store(path: Path) -> object:
    """A database that somebody else wrote, or that was damaged; the fuzzer's bytes are all of it."""
    monitor = Monitor(certificates()[0], Store(path, create=False))
    try:
        monitor.add([Feedback("more", measured=0.5, full=0.5), *(Feedback(query, overlap=0.5) for query in _KEPT)])
        found = monitor.standing(), [monitor.history(stream) for stream in STREAMS], monitor.look()
        monitor.restart()
        return found
    finally:
        monitor.store.close()


def _stores() -> list[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        monitor = Monitor(certificates()[0], Path(folder) / "monitor.db")
        monitor.start(data(), first_look=30)
        monitor.add_data(data().select(_KEPT))
        monitor.store.close()
        return [(Path(folder) / "monitor.db").read_bytes()]


def _as_msgpack(content: bytes) -> bytes:
    return msgspec.msgpack.encode(msgspec.json.decode(content))


def _keys() -> list[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "key.pem"
        write_new_key(path)
        return [path.read_bytes(), path.with_suffix(".pub.pem").read_bytes()]


def _signed() -> list[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "key.pem"
        write_new_key(path)
        return [sign(certificates()[0], path).to_json().encode()]


def _key(path: Path) -> object:
    answers: list[object] = []
    for read in (read_private_key, read_public_keys, read_keys):
        try:
            answers.append(read(path))
        except InputError as error:
            answers.append(one_sentence(error))
    return answers


FEEDBACK = b"""{"id": "q1", "ids": ["a", "b"], "retriever": [2, 1.5], "reranker": [0.1, 0.2], "judgements": {"a": 1}}
{"id": "q2", "measured": 0.5, "full": 1, "overlap": 0.25, "certificate": "0123"}
"""
MESSAGES = [
    b'{"scores": [2, 1.5], "ids": ["a", "b"], "id": "q"}',
    b'{"queries": [{"scores": "AACAPw=="}]}',
    b'{"query": "q", "documents": [{"id": "a", "score": 1, "text": "t"}]}',
    b'{"records": [{"id": "q", "measured": 1, "full": 1}]}',
]
RUN = b"q1 Q0 a 1 3.5 bm25\nq1 Q0 b 2 2.5 bm25\nq2\tQ0\ta\t1\t-1.5e0\tbm25\r\n\nq2 Q0 c 2 -2.5 na\xc3\xafve\n"
QRELS = b"q1 0 a 1\nq1 0 b -1\nq2 0 c 2\n"
BEIR_QRELS = b"query-id\tcorpus-id\tscore\nq1\ta\t1\nq2\tc\t2\n"
RECORDS = b'{"_id": "d1", "title": "t", "text": "some text"}\n{"id": 7, "contents": "\\u00e9"}\n'
RECIPE = b"""name = "tiny"
depth = 50
[collection]
beir = "data"
sample = 10
[retriever]
kind = "bm25"
k1 = 1.2
[reranker]
kind = "cross-encoder"
model = "./cross"
[fusion]
beta = "fit"
"""


def _packed(content: bytes) -> list[bytes]:
    return [content, gzip.compress(content), bz2.compress(content), zstandard.compress(content)]


@cache
def _tables() -> tuple[bytes, bytes]:
    return as_parquet(to_frame(data())), as_parquet(judgements(data()))


def _corpus() -> list[bytes]:
    frame = pl.DataFrame({"_id": ["d1", "d2"], "title": ["t", None], "text": ["some text", "more"]})
    return [as_parquet(frame)]


def _zips() -> list[bytes]:
    made = []
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", method) as archive:
            for name, content in (
                ("corpus.jsonl", RECORDS),
                ("queries.jsonl", RECORDS),
                ("qrels/test.tsv", BEIR_QRELS),
            ):
                archive.writestr(f"tiny/{name}", content)
        made.append(buffer.getvalue())
    return made


def _metas() -> list[bytes]:
    described = {"depth": 8, "parts": 1, "fingerprints": {"retriever": "a", "reranker": "b"}, "name": "tiny"}
    return [json.dumps(described).encode()]


TARGETS = {
    "run": Target(read_run, lambda: _packed(RUN)),
    "qrels": Target(read_qrels, lambda: [*_packed(QRELS), BEIR_QRELS]),
    "groups": Target(read_groups, lambda: [b"q1 a\nq2 a\n\nq3\tb\r\n"]),
    "unpacking": Target(_unpack, lambda: _packed(RUN)),
    "certificate": Target(_load_and_work, lambda: [each.to_json().encode() for each in certificates()]),
    "signed-certificate": Target(_sign_and_work, lambda: [each.to_json().encode() for each in certificates()]),
    "parquet": Target(lambda path: read_parquet(path), lambda: [*_tables(), *_corpus()]),
    "table": Target(_table, lambda: [_tables()[0]]),
    "judged-table": Target(_judged_table, lambda: [_tables()[1]]),
    "meta": Target(_meta, _metas, "meta.json"),
    "recipe": Target(read_recipe, lambda: [RECIPE], "recipe.toml"),
    "records": Target(lambda path: list(read_records(path)), lambda: _packed(RECORDS), "corpus.jsonl"),
    "parquet-records": Target(lambda path: list(read_records(path)), _corpus, "corpus.parquet"),
    "zip": Target(_beir, _zips, "data.zip"),
    "signature": Target(_load_and_work, _signed),
    "keys": Target(_key, lambda: [*_keys(), b"a-key-of-enough-letters\n"]),
    "feedback": Target(_feedback, lambda: [FEEDBACK]),
    "messages": Target(_messages, lambda: [*MESSAGES, *(_as_msgpack(each) for each in MESSAGES)]),
    "store": Target(_store, _stores, "monitor.db"),
}
