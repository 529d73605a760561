"""Where monitors live: one schema for SQLite and PostgreSQL, one transaction for everything that is counted.

Whoever counts holds the period until it has committed, so two processes count one after the other, and what was
acknowledged is on disk: a process that is killed leaves either all of a transaction behind or nothing.
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from surecut.errors import InputError
from surecut.extras import needed

needed("sqlalchemy", "monitor")

import sqlalchemy as sa  # noqa: E402

Connection = sa.Connection

DEFAULT_STORE = "surecut-monitor.db"
VERSION = 1
_TURNS = 7_316_521  # an advisory lock of PostgreSQL
_PATIENCE = 60.0  # seconds to wait for another writer

_tables = sa.MetaData()
_versions = sa.Table("surecut_store", _tables, sa.Column("version", sa.Integer, primary_key=True))
PERIODS = sa.Table(
    "surecut_periods",
    _tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("digest", sa.String(64), nullable=False),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("certificate", sa.Text, nullable=False),
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
    certificate: str
    settings: Mapping[str, Any]
    state: Mapping[str, Any]
    started: float


@dataclass(frozen=True)
class KeptFeedback:
    """What is kept under an id; `complete` numbers the records that a recalibration can use, in order of arrival."""

    content: bytes
    complete: int | None
    arrived: float


class Store:
    """A database of periods, by the path of an SQLite file or by a URL."""

    def __init__(self, place: str | Path = DEFAULT_STORE, create: bool = True) -> None:
        url = _url(place)
        if not create and url.get_backend_name() == "sqlite" and not Path(url.database or "").exists():
            raise InputError(f"{url.database}: no such database; surecut monitor start makes one")
        self.name = url.database or "" if url.get_backend_name() == "sqlite" else url.render_as_string()
        self._engine = _engine(url)
        with self._connected(writes=True) as connection:
            _create(connection, self.name)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A consistent view, which waits for nobody."""
        with self._connected(writes=False) as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction: all of it, or nothing if it is left by an error."""
        with self._connected(writes=True) as connection:
            yield connection

    def close(self) -> None:
        self._engine.dispose()

    @contextmanager
    def _connected(self, writes: bool) -> Iterator[Connection]:
        try:
            with self._engine.execution_options(writes=writes).begin() as connection:
                yield connection
        except sa.exc.DBAPIError as error:
            said = " ".join(str(error.orig).split()) or "no answer"
            raise InputError(f"the monitor's database {self.name} does not work: {said}") from None


def _url(place: str | Path) -> sa.URL:
    text = str(place)
    if "://" not in text:
        return sa.URL.create("sqlite", database=text)
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
    return url


def _engine(url: sa.URL) -> sa.Engine:
    if url.get_backend_name() != "sqlite":
        return sa.create_engine(url, pool_pre_ping=True)
    engine = sa.create_engine(url, connect_args={"timeout": _PATIENCE})
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


def _create(connection: Connection, name: str) -> None:
    take_turns(connection)
    _tables.create_all(connection)
    found = connection.execute(sa.select(sa.func.max(_versions.c.version))).scalar()
    if found is None:
        connection.execute(_versions.insert().values(version=VERSION))
    elif found > VERSION:
        raise InputError(f"{name}: made by a newer surecut (store {found}, this one reads {VERSION}): upgrade surecut")


def take_turns(connection: Connection) -> None:
    """What makes tables and periods waits for others that do (SQLite has one writer anyway)."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_TURNS)))


def latest(connection: Connection, digest: str, hold: bool = False) -> Period | None:
    """The present period of a certificate; to `hold` it is to let no other process count until the end."""
    columns = [PERIODS.c[each.name] for each in fields(Period)]
    query = sa.select(*columns).where(PERIODS.c.digest == digest).order_by(PERIODS.c.number.desc()).limit(1)
    row = connection.execute(query.with_for_update() if hold else query).mappings().first()
    if row is None:
        return None
    return Period(**{**row, "settings": json.loads(row["settings"]), "state": json.loads(row["state"])})


def reference_of(connection: Connection, period: int) -> Any:
    """What traffic was compared with when a period began."""
    return json.loads(connection.execute(sa.select(PERIODS.c.reference).where(PERIODS.c.id == period)).scalar_one())


def begin(
    connection: Connection, digest: str, certificate: str, settings: Mapping[str, Any], state: Mapping[str, Any]
) -> Period:
    """A new period, the next one of its certificate."""
    take_turns(connection)
    before = connection.execute(sa.select(sa.func.max(PERIODS.c.number)).where(PERIODS.c.digest == digest)).scalar()
    row = {
        "digest": digest,
        "number": (before or 0) + 1,
        "certificate": certificate,
        "settings": json.dumps(settings),
        "state": json.dumps(state),
        "reference": json.dumps(state["drift"]["drift"]),
        "started": time.time(),
    }
    connection.execute(PERIODS.insert().values(**row))
    made = latest(connection, digest)
    assert made is not None
    return made


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
        OBSERVATIONS.c.period == period, OBSERVATIONS.c.id.in_(ids)
    )
    return {(row.stream, row.id) for row in connection.execute(query)}


def count(connection: Connection, period: int, rows: Sequence[Mapping[str, Any]], state: Mapping[str, Any]) -> None:
    """Write down what was counted, and the state after it."""
    now = time.time()
    if rows:
        connection.execute(OBSERVATIONS.insert(), [{"period": period, "arrived": now, **row} for row in rows])
    connection.execute(PERIODS.update().where(PERIODS.c.id == period).values(state=json.dumps(state)))


def note_look(connection: Connection, period: int, number: int, status: str, digest: str) -> None:
    """Write down that a look was taken; the same one again says nothing new."""
    there = sa.select(LOOKS.c.number).where(LOOKS.c.period == period, LOOKS.c.number == number)
    if connection.execute(there).first() is None:
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
