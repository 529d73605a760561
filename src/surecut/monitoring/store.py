"""Where monitors live: one schema for SQLite and PostgreSQL, one transaction for everything that is counted.

Whoever counts holds the period until it has committed, so two processes count one after the other, and what was
acknowledged is on disk: a process that is killed leaves either all of a transaction behind or nothing.
"""

import hashlib
import json
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from surecut.errors import InputError
from surecut.extras import needed
from surecut.monitoring import DEFAULT_STORE
from surecut.monitoring.streams import STREAMS

needed("sqlalchemy", "monitor")

import sqlalchemy as sa  # noqa: E402

Connection = sa.Connection

VERSION = 1
_CONNECTIONS = 20
PATIENCE = 60.0  # seconds to wait for another writer

_tables = sa.MetaData()
_versions = sa.Table("surecut_store", _tables, sa.Column("version", sa.Integer, primary_key=True))
PERIODS = sa.Table(
    "surecut_periods",
    _tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("digest", sa.String(64), nullable=False),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("settings", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("reference", sa.Text, nullable=False),  # what traffic is compared with, as it was at the beginning
    sa.Column("started", sa.Float, nullable=False),
    sa.UniqueConstraint("digest", "number"),
)
FEEDBACK = sa.Table(
    "surecut_feedback",
    _tables,
    sa.Column("period", sa.ForeignKey(PERIODS.c.id), primary_key=True),
    sa.Column("id", sa.String(512), primary_key=True),
    sa.Column("content", sa.LargeBinary, nullable=False),
    sa.Column("complete", sa.Integer),
    sa.Column("arrived", sa.Float, nullable=False),
    sa.UniqueConstraint("period", "complete"),
)
OBSERVATIONS = sa.Table(
    "surecut_observations",
    _tables,
    sa.Column("period", sa.ForeignKey(PERIODS.c.id), primary_key=True),
    sa.Column("stream", sa.String(16), primary_key=True),
    sa.Column("place", sa.Integer, primary_key=True),
    sa.Column("id", sa.String(512), nullable=False),
    sa.Column("x", sa.Float),
    sa.Column("ever", sa.Float),
    sa.Column("recent", sa.Float),
    sa.Column("arrived", sa.Float, nullable=False),
    sa.UniqueConstraint("period", "stream", "id"),
)
LOOKS = sa.Table(
    "surecut_looks",
    _tables,
    sa.Column("period", sa.ForeignKey(PERIODS.c.id), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("status", sa.String(32), nullable=False),
    sa.Column("digest", sa.String(64), nullable=False),
    sa.Column("taken", sa.Float, nullable=False),
)


@dataclass(frozen=True)
class Period:
    """One period over which a certificate is watched."""

    id: int
    digest: str
    number: int
    settings: Mapping[str, Any]
    state: Mapping[str, Any]
    started: float


@dataclass(frozen=True)
class KeptFeedback:
    """What is kept under an id; `complete` numbers the records that a recalibration can use, in order of arrival."""

    content: bytes
    complete: int | None
    arrived: float


class StoreUnavailable(InputError):
    """The database does not answer, or not in time; what was to be written was not, and may be sent again."""


class Store:
    """A database of periods, by the path of an SQLite file or by a URL."""

    def __init__(self, place: str | Path = DEFAULT_STORE, create: bool = True, patience: float = PATIENCE) -> None:
        url = _url(place)
        self._one_file = url.get_backend_name() == "sqlite"
        self.name = str(url.database) if self._one_file else url.render_as_string()
        self._turn = threading.Lock()  # SQLite has one writer: those of this process wait here, not for a connection
        self._file: tuple[int, int] | None = None
        if self._one_file:
            _make_file(Path(self.name), create)
            self._file = _identity(self.name)
        self._patience, self._engine = patience, _engine(url, patience)
        with self._connected(writes=create) as connection:
            if create:
                _create(connection)
            _refuse_other_versions(connection, self.name)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """What is committed; a reader waits for no writer."""
        self._refuse_another_file()
        with self._connected(writes=False) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction: all of it, or nothing if it is left by an error."""
        self._refuse_another_file()
        with self._my_turn(), self._connected(writes=True) as connection:
            yield connection

    def _refuse_another_file(self) -> None:
        """What is written to a file that is open and has no name any more is lost at the end."""
        if self._file is not None and _identity(self.name) != self._file:
            raise StoreUnavailable(f"the monitor's database {self.name} was removed or replaced: start again with it")

    @contextmanager
    def _my_turn(self) -> Iterator[None]:
        if not self._one_file:
            yield
            return
        if not self._turn.acquire(timeout=self._patience):
            raise StoreUnavailable(f"the monitor's database {self.name} is busy: {self._patience:g} s were not enough")
        try:
            yield
        finally:
            self._turn.release()

    def close(self) -> None:
        self._engine.dispose()

    @contextmanager
    def _connected(self, writes: bool) -> Iterator[Connection]:
        try:
            with self._engine.execution_options(writes=writes).begin() as connection:
                yield connection
        except sa.exc.SQLAlchemyError as error:
            said = " ".join(str(getattr(error, "orig", None) or error).split()) or "no answer"
            raise StoreUnavailable(f"the monitor's database {self.name} does not work: {said}") from None
        except UnicodeDecodeError:  # of what SQLite quotes from a damaged file
            raise StoreUnavailable(f"the monitor's database {self.name} does not work: it is damaged") from None


def _url(place: str | Path) -> sa.URL:
    text = str(place)
    if "://" not in text:
        return _file_url(sa.URL.create("sqlite", database=text))
    try:
        url = sa.make_url(text)
    except (sa.exc.ArgumentError, ValueError):
        raise InputError("the monitor's database is a file, or a URL like postgresql://user@host/name") from None
    kind = url.get_backend_name()
    if kind in ("postgresql", "postgres"):
        needed("psycopg", "postgres")
        return url.set(drivername="postgresql+psycopg")
    if kind != "sqlite":
        raise InputError(f"the monitor's database is SQLite or PostgreSQL, not {kind}")
    return _file_url(url)


def _file_url(url: sa.URL) -> sa.URL:
    if url.database in (None, "", ":memory:") or url.query:
        raise InputError("the monitor's database is to survive: name a file, by its path or as sqlite:///path")
    return url.set(drivername="sqlite")


def _identity(path: str) -> tuple[int, int] | None:
    """Which file stands under a path."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _make_file(path: Path, create: bool) -> None:
    """A new file is its owner's alone: it will hold ids of queries and documents."""
    if path.exists():
        return
    if not create:
        raise InputError(f"{path}: no such database; surecut monitor start makes one")
    try:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
    except OSError as error:
        raise InputError(f"{path}: cannot be made ({error.strerror})") from None


def _engine(url: sa.URL, patience: float) -> sa.Engine:
    if url.get_backend_name() != "sqlite":
        waits = {"connect_timeout": max(2, round(patience)), "options": f"-c lock_timeout={round(1000 * patience)}"}
        unsaid = {name: value for name, value in waits.items() if name not in url.query}
        return sa.create_engine(url, connect_args=unsaid, pool_pre_ping=True, pool_size=_CONNECTIONS)
    engine = sa.create_engine(url, connect_args={"timeout": patience}, pool_size=_CONNECTIONS)
    sa.event.listen(engine, "connect", _set_up_sqlite)
    sa.event.listen(engine, "begin", _begin_sqlite)
    return engine


def _set_up_sqlite(connection: Any, _: Any) -> None:
    """Readers and one writer side by side; what is committed is on disk."""
    connection.isolation_level = None  # transactions begin below, not when the driver thinks fit
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")


def _begin_sqlite(connection: Connection) -> None:
    """A writer takes its place in the queue at once: one that began by reading could not wait for its turn."""
    writes = connection.get_execution_options().get("writes", True)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _create(connection: Connection) -> None:
    take_turns(connection, "tables")
    _tables.create_all(connection)
    if connection.execute(sa.select(_versions.c.version)).first() is None:
        connection.execute(_versions.insert().values(version=VERSION))


def _refuse_other_versions(connection: Connection, name: str) -> None:
    if not sa.inspect(connection).has_table(_versions.name):
        raise InputError(f"{name}: a database without a monitor in it; surecut monitor start makes one")
    found = connection.execute(sa.select(sa.func.max(_versions.c.version))).scalar_one()
    if not isinstance(found, int):  # SQLite keeps anything in any column
        raise StoreUnavailable(f"{name}: damaged, or not a monitor's; restore it, or begin another")
    if found > VERSION:
        raise InputError(f"{name}: made by a newer surecut (store {found}, this one reads {VERSION}): upgrade surecut")


def take_turns(connection: Connection, what: str) -> None:
    """Until the transaction ends, nobody else changes this (SQLite has one writer anyway).

    What is read after this is what the last one left, also where a row was waited for.
    """
    if connection.dialect.name == "postgresql":
        number = int.from_bytes(hashlib.blake2b(f"surecut {what}".encode(), digest_size=8).digest(), "big", signed=True)
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(number)))


def latest(connection: Connection, digest: str) -> Period | None:
    """The present period of a certificate."""
    columns = [PERIODS.c[each.name] for each in fields(Period)]
    query = sa.select(*columns).where(PERIODS.c.digest == digest).order_by(PERIODS.c.number.desc()).limit(1)
    row = connection.execute(query).mappings().first()
    if row is None:
        return None
    return Period(**{**row, "settings": _parsed(row["settings"]), "state": _parsed(row["state"])})


def _parsed(text: str) -> Any:
    """What was written as JSON; nothing of what is not, which whoever needs it refuses."""
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return None


def reference_of(connection: Connection, period: int) -> Any:
    """What traffic was compared with when a period began."""
    return _parsed(connection.execute(sa.select(PERIODS.c.reference).where(PERIODS.c.id == period)).scalar_one())


def begin(connection: Connection, digest: str, settings: Mapping[str, Any], state: Mapping[str, Any]) -> Period:
    """A new period, the next one of its certificate; whoever begins one has taken turns."""
    before = latest(connection, digest)
    row = {
        "digest": digest,
        "number": 1 if before is None else before.number + 1,
        "settings": json.dumps(settings),
        "state": json.dumps(state),
        "reference": json.dumps(state["drift"]["drift"]),
        "started": time.time(),
    }
    connection.execute(PERIODS.insert().values(**row))
    made = latest(connection, digest)
    assert made is not None
    return made


def known_earlier(connection: Connection, period: Period, ids: Sequence[str]) -> set[str]:
    """Which of these ids were counted in an earlier period of the same certificate."""
    query = (
        sa.select(OBSERVATIONS.c.id)
        .join(PERIODS, OBSERVATIONS.c.period == PERIODS.c.id)
        .where(PERIODS.c.digest == period.digest, PERIODS.c.number < period.number)
        .where(OBSERVATIONS.c.stream.in_(STREAMS), OBSERVATIONS.c.id.in_(ids))
    )
    return set(connection.execute(query).scalars())


def known_feedback(connection: Connection, period: int, ids: Sequence[str]) -> dict[str, KeptFeedback]:
    """What is kept under these ids."""
    query = sa.select(FEEDBACK).where(FEEDBACK.c.period == period, FEEDBACK.c.id.in_(ids))
    return {row.id: KeptFeedback(row.content, row.complete, row.arrived) for row in connection.execute(query)}


def keep_feedback(connection: Connection, period: int, rows: Mapping[str, KeptFeedback]) -> None:
    """Keep these records, in the place of what was kept under their ids."""
    if rows:
        connection.execute(FEEDBACK.delete().where(FEEDBACK.c.period == period, FEEDBACK.c.id.in_(list(rows))))
        connection.execute(FEEDBACK.insert(), [{"period": period, "id": id_, **vars(row)} for id_, row in rows.items()])


def complete_feedback(connection: Connection, period: int, queries: int) -> list[bytes]:
    """The first so many complete records, in order of arrival."""
    query = sa.select(FEEDBACK.c.content).where(FEEDBACK.c.period == period, FEEDBACK.c.complete <= queries)
    return [row.content for row in connection.execute(query.order_by(FEEDBACK.c.complete))]


def counted(connection: Connection, period: int, ids: Sequence[str]) -> set[tuple[str, str]]:
    """In which streams these ids have been counted."""
    query = sa.select(OBSERVATIONS.c.stream, OBSERVATIONS.c.id).where(
        OBSERVATIONS.c.period == period, OBSERVATIONS.c.stream.in_(STREAMS), OBSERVATIONS.c.id.in_(ids)
    )  # the streams are named for the sake of the index
    return {(row.stream, row.id) for row in connection.execute(query)}


def count(connection: Connection, period: int, rows: Sequence[Mapping[str, Any]], state: Mapping[str, Any]) -> None:
    """Write down what was counted, and the state after it."""
    now = time.time()
    if rows:
        connection.execute(OBSERVATIONS.insert(), [{"period": period, "arrived": now, **row} for row in rows])
    connection.execute(PERIODS.update().where(PERIODS.c.id == period).values(state=json.dumps(state)))


def looks_taken(connection: Connection, period: int) -> list[tuple[int, str]]:
    """Which looks were taken, and how they ended."""
    query = sa.select(LOOKS.c.number, LOOKS.c.status).where(LOOKS.c.period == period).order_by(LOOKS.c.number)
    return [(row.number, row.status) for row in connection.execute(query)]


def note_look(connection: Connection, period: int, number: int, status: str, digest: str) -> None:
    """Write down that a look was taken; the same one again says nothing new."""
    if number not in dict(looks_taken(connection, period)):
        row = {"period": period, "number": number, "status": status, "digest": digest, "taken": time.time()}
        connection.execute(LOOKS.insert().values(**row))


def evidence(connection: Connection, period: int, stream: str, points: int) -> list[tuple[Any, ...]]:
    """place, arrived, ever, recent of about so many observations, evenly, the last one among them."""
    here = (OBSERVATIONS.c.period == period) & (OBSERVATIONS.c.stream == stream)
    last = connection.execute(sa.select(sa.func.max(OBSERVATIONS.c.place)).where(here)).scalar() or 0
    step = -(-last // points) or 1
    shown = here & ((OBSERVATIONS.c.place % step == 0) | OBSERVATIONS.c.place.in_((1, last)))
    columns = (OBSERVATIONS.c.place, OBSERVATIONS.c.arrived, OBSERVATIONS.c.ever, OBSERVATIONS.c.recent)
    return [tuple(row) for row in connection.execute(sa.select(*columns).where(shown).order_by(OBSERVATIONS.c.place))]
