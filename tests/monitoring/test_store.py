"""Stores that cannot be, in one sentence; two writers at once; and a writer that is killed at any moment."""

import os
import random
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa

from surecut.errors import InputError
from surecut.monitoring import store
from surecut.monitoring.feedback import Feedback
from surecut.monitoring.monitor import Monitor
from surecut.monitoring.store import Store, StoreUnavailable, begin, latest, take_turns

WRITER = Path(__file__).with_name("writer.py")


def test_a_file_that_is_no_database_is_refused(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("not a database, but long enough to look at " * 50)
    with pytest.raises(InputError, match=r"notes\.txt does not work: file is not a database"):
        Store(path)


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match=r"nowhere.monitor\.db: cannot be made"):
        Store(tmp_path / "nowhere" / "monitor.db")


def test_only_two_kinds_are_known():
    with pytest.raises(InputError, match="SQLite or PostgreSQL, not mysql"):
        Store("mysql://somebody@localhost/monitor")
    with pytest.raises(InputError, match="a file, or a URL"):
        Store("postgres ql://x")


@pytest.mark.heavy
def test_a_password_is_not_repeated(postgres):
    with pytest.raises(InputError) as refused:
        Store("postgresql://somebody:hunter2secret@127.0.0.1:9/monitor")
    assert "hunter2secret" not in str(refused.value)


def test_memory_is_no_place_for_what_is_to_survive():
    for place in ("sqlite://", "sqlite:///:memory:", "", ":memory:", "sqlite:///x.db?mode=memory"):
        with pytest.raises(InputError, match="to survive"):
            Store(place)


def test_a_driver_of_ones_own_is_not_asked_for(tmp_path):
    assert Store(f"sqlite+aiosqlite:///{tmp_path}/monitor.db").name == f"{tmp_path}/monitor.db"


def test_the_file_is_its_owners_alone(tmp_path):
    store = Store(tmp_path / "monitor.db")
    with store.writing() as connection:
        connection.exec_driver_sql("CREATE TABLE more (x)")
    assert {stat.S_IMODE(each.stat().st_mode) for each in tmp_path.glob("monitor.db*")} == {0o600}


def test_a_file_that_was_removed_takes_nothing_more(certificate, tmp_path):
    monitor = Monitor(certificate, tmp_path / "monitor.db")
    monitor.start()
    for path in tmp_path.glob("monitor.db*"):
        path.unlink()
    with pytest.raises(StoreUnavailable, match="removed or replaced"):
        monitor.add([Feedback("a", measured=1.0, full=1.0)])


def test_another_database_is_left_as_it_is(tmp_path):
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE songs (name)")
    with pytest.raises(InputError, match="without a monitor in it"):
        Store(path, create=False)
    with sqlite3.connect(path) as other:
        assert [name for (name,) in other.execute("SELECT name FROM sqlite_master")] == ["songs"]


def test_a_store_that_is_busy_too_long_is_unavailable(certificate, tmp_path):
    monitor = Monitor(certificate, Store(tmp_path / "monitor.db", patience=0.2))
    with sqlite3.connect(tmp_path / "monitor.db") as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match="database is locked"):
            monitor.add([Feedback("a", measured=1.0, full=1.0)])
        assert monitor.standing().claim.count == 0  # a reader waits for nobody
    assert monitor.add([Feedback("a", measured=1.0, full=1.0)]).counted["claim"] == 1


def test_many_threads_take_their_turns(certificate, place):
    monitor = Monitor(certificate, place)
    with ThreadPoolExecutor(40) as pool:
        list(pool.map(lambda number: monitor.add([Feedback(f"t{number}", measured=1.0, full=1.0)]), range(120)))
    assert monitor.standing().claim.count == 120


def test_a_restart_and_feedback_at_once_end_in_one_period_each(certificate, place):
    """What is acknowledged after a restart is in the new period; two starts are one too many."""
    monitors = [Monitor(certificate, place) for _ in range(4)]

    def start(monitor: Monitor) -> bool:
        try:
            monitor.start()
        except InputError:
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(start, monitors)) == 1
    with monitors[0].store.writing() as connection:
        take_turns(connection, certificate.digest)  # a restart that is under way
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(monitors[1].add, [Feedback("a", measured=1.0, full=1.0)])
            time.sleep(0.3)
            before = latest(connection, certificate.digest)
            assert before is not None
            begin(connection, certificate.digest, before.settings, before.state)
            connection.commit()
            assert waiting.result().counted["claim"] == 1
    assert monitors[2].standing().period == 2
    assert monitors[2].standing().claim.count == 1


def test_reading_makes_no_database(tmp_path):
    with pytest.raises(InputError, match="no such database"):
        Store(tmp_path / "monitor.db", create=False)
    assert not (tmp_path / "monitor.db").exists()


def writer(place: str, certificate: Path, prefix: str, count: int) -> "subprocess.Popen[str]":
    """A process that sends feedback and prints each id once it is acknowledged."""
    return subprocess.Popen(
        [sys.executable, str(WRITER), place, str(certificate), prefix, str(count)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )


def test_two_processes_write_at_once(certificate, place, tmp_path):
    """Both begin with no store at all; every other id is sent by both."""
    path = tmp_path / "cert.json"
    certificate.save(path)
    both = [writer(place, path, prefix, 60) for prefix in ("a", "b")]
    said = [process.communicate(timeout=300) for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    monitor = Monitor(certificate, place)
    assert monitor.standing().claim.count == 3 * 30  # 30 shared, 30 of each alone
    assert monitor.standing().period == 1


@pytest.mark.parametrize("seed", range(3))
def test_a_writer_that_is_killed_loses_nothing_it_acknowledged(certificate, place, tmp_path, seed):
    """kill -9 at a random moment, again and again; then all of it is sent once more."""
    path, chance, acknowledged = tmp_path / "cert.json", random.Random(seed), set()
    certificate.save(path)
    Monitor(certificate, place).start()
    for _ in range(3):
        process = writer(place, path, "a", 1_000)
        assert process.stdout is not None
        acknowledged.add(process.stdout.readline().strip())
        time.sleep(chance.uniform(0.0, 0.4))
        process.send_signal(signal.SIGKILL)
        acknowledged |= set(process.communicate()[0].split())
    monitor = Monitor(certificate, place)
    known = monitor.standing().claim.count
    assert known >= len(acknowledged)
    everything = {f"a{number}" if number % 2 else f"shared{number}" for number in range(200)}
    again = writer(place, path, "a", 200)
    said = again.communicate(timeout=300)
    assert again.returncode == 0, said
    standing = monitor.standing()
    assert standing.claim.count == len(everything | acknowledged)
    assert monitor.history("claim", points=10_000)[-1].count == standing.claim.count


def test_acknowledged_feedback_outlives_a_server_that_is_killed(certificate, tmp_path):
    """The page cache is flushed with every commit: what SQLite says is committed is in the file."""
    monitor = Monitor(certificate, tmp_path / "monitor.db")
    with monitor.store.reading() as connection:
        pragmas = [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("journal_mode", "synchronous")]
    assert pragmas == ["wal", 2]


@pytest.mark.parametrize(
    ("damage", "use"),
    [
        ("UPDATE surecut_feedback SET content = 'x'", lambda monitor: monitor.add([Feedback("f0", overlap=0.5)])),
        ("UPDATE surecut_feedback SET content = 'x'", lambda monitor: monitor.look()),
        ("UPDATE surecut_periods SET reference = '{'", lambda monitor: monitor.restart()),
        ("UPDATE surecut_periods SET state = '{}'", lambda monitor: monitor.standing()),
        ("UPDATE surecut_periods SET settings = '[]'", lambda monitor: monitor.add([Feedback("a", overlap=0.5)])),
    ],
)
def test_rows_that_are_damaged_are_said_to_be(certificate, system, tmp_path, damage, use):
    monitor = Monitor(certificate, tmp_path / "monitor.db")
    monitor.start(first_look=30)
    monitor.add([Feedback("f0", measured=0.5, full=0.5)])
    monitor.add_data(system[1].take(np.arange(30)))
    with sqlite3.connect(tmp_path / "monitor.db") as other:
        other.execute(damage)
    with pytest.raises(StoreUnavailable, match="damaged, or not a monitor's"):
        use(monitor)


@pytest.mark.parametrize("damage", ["DELETE FROM surecut_store", "INSERT INTO surecut_store VALUES ('x')"])
def test_a_version_that_is_none_is_damaged(certificate, tmp_path, damage):
    Monitor(certificate, tmp_path / "monitor.db").start(first_look=30)
    with sqlite3.connect(tmp_path / "monitor.db") as other:
        other.executescript(f"ALTER TABLE surecut_store RENAME TO old; CREATE TABLE surecut_store (version); {damage}")
    with pytest.raises(StoreUnavailable, match="damaged, or not a monitor's"):
        Store(tmp_path / "monitor.db", create=False)


def test_a_file_that_was_taken_away_is_not_read_either(certificate, tmp_path):
    monitor = Monitor(certificate, tmp_path / "monitor.db")
    monitor.add([Feedback("a", measured=1.0, full=1.0)])
    (tmp_path / "monitor.db").rename(tmp_path / "other.db")
    with pytest.raises(StoreUnavailable, match="removed or replaced"):
        monitor.standing()


def test_counting_looks_only_at_the_ids_it_counts(certificate, tmp_path):
    """However many were counted before: the ids are found by the index."""
    monitor = Monitor(certificate, tmp_path / "monitor.db")
    monitor.add([Feedback("a", measured=1.0, full=1.0)])
    monitor.restart()
    said = []
    with monitor.store.reading() as connection:
        period = store.latest(connection, certificate.digest)
        sa.event.listen(connection.engine, "before_cursor_execute", lambda *given: said.append(given[2:4]))
        store.counted(connection, period.id, ["a", "b"])
        store.known_earlier(connection, period, ["a", "b"])
    with sqlite3.connect(tmp_path / "monitor.db") as other:
        plans = [other.execute(f"EXPLAIN QUERY PLAN {words}", values).fetchall() for words, values in said]
    assert len(plans) == 2
    for plan in plans:
        assert "period=? AND stream=? AND id=?" in str(plan)


def test_a_schema_that_is_no_text_is_damaged(certificate, tmp_path):
    """SQLite quotes it in a complaint that cannot be read either."""
    path = tmp_path / "monitor.db"
    monitor = Monitor(certificate, path)
    monitor.start()
    monitor.store.close()
    path.write_bytes(path.read_bytes().replace(b"tablesurecut_periods", b"tablesu\xd7ecut_periods", 1))
    with pytest.raises(StoreUnavailable, match="does not work"):
        Store(path)
