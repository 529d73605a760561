"""A certificate with traffic like its own, and stores of both kinds."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

import surecut as sc
from surecut.candidates import Candidates
from surecut.certificate import Certificate
from surecut.monitoring.feedback import Feedback
from surecut.monitoring.monitor import Monitor


@pytest.fixture(scope="session")
def system() -> tuple[Candidates, Candidates]:
    """Calibration queries, and the traffic that comes later."""
    return sc.simulate("dense-electra", queries=900, depth=40, seed=5).split((0.5, 0.5))  # type: ignore[return-value]


@pytest.fixture(scope="session")
def certificate(system) -> Certificate:
    return sc.calibrate(system[0], target=sc.max_drop(0.05))


@pytest.fixture(scope="session")
def postgres(tmp_path_factory) -> Iterator[str]:
    """A real PostgreSQL, started here and stopped here."""
    import pgserver

    server = pgserver.get_server(tmp_path_factory.mktemp("postgres"), cleanup_mode="delete")
    yield server.get_uri()
    server.cleanup()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.heavy)])
def place(request, tmp_path) -> str:
    """Where a store may be made: a new SQLite file, or a new database of PostgreSQL."""
    if request.param == "sqlite":
        return str(tmp_path / "monitor.db")
    import psycopg

    address, name = request.getfixturevalue("postgres"), f"monitor_{uuid4().hex}"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    head, _, options = address.partition("?")
    return f"{head.rsplit('/', 1)[0]}/{name}?{options}"


@pytest.fixture
def monitor(certificate, place):
    return Monitor(certificate, place)


def figures(count: int, measured: float = 0.5, full: float = 0.5, begin: int = 0) -> list[Feedback]:
    return [Feedback(f"f{number}", measured=measured, full=full) for number in range(begin, begin + count)]
