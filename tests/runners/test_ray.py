"""Ray on this machine: the same tables and certificates, byte for byte, and errors that come home as they are."""

import os
import signal
import socket
import subprocess
import sys
import time
from types import SimpleNamespace

import polars as pl
import pytest

import surecut as sc
from surecut.errors import EvaluatorsDisagree, NothingGoesThrough
from surecut.io.table import write_table
from surecut.runners import connecting
from surecut.runners.attempts import WHY
from surecut.system.collection import Queries
from surecut.system.isolating import Isolated
from surecut.system.recipe import read_recipe
from surecut.system.scorer import Scored, Scorer, Task
from surecut.system.scoring import score
from surecut.system.vectors import _Encoder
from tests.system.making import (
    WORDS,
    bi_encoder,
    contents,
    cross_encoder,
    expander,
    in_small_blocks,
    write_beir,
    write_recipe,
)

POISON = WORDS[-1]


def squared(number):
    return number * number


def refused(number):
    raise sc.InputError(f"number {number} is not read here")


def refused_with_a_cure(number):
    raise sc.InputError("this is not it", ["surecut demo"])


def disagreeing(number):
    raise EvaluatorsDisagree(f"{number} or {number + 1}")


class Adding:
    """A worker that counts how often it was made."""

    def __init__(self, more):
        self.more = more

    def __call__(self):
        return lambda item: item + self.more


class Broken:
    def __call__(self):
        raise sc.InputError("no such model folder")


class Unshared:
    def __call__(self):
        return lambda item: open("/nowhere/at/all")


class Encoder:
    def __init__(self, number):
        self.number = number

    def __call__(self, block):
        return os._exit(1) if self.number in block else Isolated({each: each for each in block}, {})

    def alive(self):
        return True


class Device(Encoder):
    broken = False

    def __call__(self, block):
        self.broken = self.broken or self.number in block
        if self.broken:
            raise NothingGoesThrough("device-side assert")
        return Isolated({each: each for each in block}, {})

    def alive(self):
        return not self.broken


class Deadly:
    """Documents are encoded with their own numbers; one of them ends the process that works on it."""

    def __init__(self, number):
        self.number = number

    def __call__(self):
        return Encoder(self.number)

    divided, joined, given_up = _Encoder.divided, _Encoder.joined, _Encoder.given_up


def test_tasks_come_back_in_the_order_of_the_items(ray):
    assert list(sc.Ray().map(squared, range(40))) == [number * number for number in range(40)]


def test_a_generator_that_is_left_leaves_nothing_running(ray, tmp_path):
    results = sc.Ray().map(Marking(tmp_path), range(100))
    assert next(results) == 0
    results.close()
    begun = len(list(tmp_path.iterdir()))
    time.sleep(5 * Marking.seconds)
    assert len(list(tmp_path.iterdir())) <= begun + 1  # Ray starts none of the others any more


class Marking:
    """Leaves a file when it begins, and takes a while."""

    seconds = 0.5

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, number):
        (self.folder / str(number)).touch()
        time.sleep(self.seconds)
        return number


@pytest.mark.parametrize(
    ("work", "kind", "words"),
    [(refused, sc.InputError, "number 0 is not read here"), (disagreeing, EvaluatorsDisagree, "0 or 1")],
)
def test_refusals_come_home_as_they_are(ray, work, kind, words):
    with pytest.raises(kind, match=rf"^{words}($|\non )"):
        list(sc.Ray().map(work, range(3)))


def test_every_item_is_worked_on_once_and_has_its_place(ray):
    made = dict(sc.Ray().infer(Adding(100), list(range(25))))
    assert made == {number: number + 100 for number in range(25)}
    assert list(sc.Ray().infer(Adding(1), [])) == []


def test_a_worker_that_cannot_be_made_says_why(ray):
    with pytest.raises(sc.InputError, match="no such model folder"):
        list(sc.Ray().infer(Broken(), [1, 2, 3]))


def test_a_file_that_a_node_does_not_have_is_named_with_the_node(ray):
    with pytest.raises(
        sc.InputError, match=r"^/nowhere/at/all: No such file .*, on .*: every node needs the same files"
    ):
        list(sc.Ray().infer(Unshared(), [1]))


def test_what_ends_its_worker_again_and_again_is_found_and_given_up(ray):
    made = dict(sc.Ray(workers=2).infer(Deadly(3), [range(2), range(2, 4), range(4, 6)]))
    assert [made[place].reasons for place in range(3)] == [{}, {3: WHY}, {}]
    assert [made[place].made for place in range(3)] == [{0: 0, 1: 1}, {2: 2}, {4: 4, 5: 5}]


class Breaking(Deadly):
    """One of the documents breaks the device, for whatever comes after it."""

    def __call__(self):
        return Device(self.number)


def test_what_breaks_a_device_is_found_and_given_up_in_processes_of_their_own(ray):
    made = dict(sc.Ray(workers=2).infer(Breaking(3), [range(2), range(2, 4), range(4, 6)]))
    assert [made[place].reasons for place in range(3)] == [{}, {3: WHY}, {}]
    assert [made[place].made for place in range(3)] == [{0: 0, 1: 1}, {2: 2}, {4: 4, 5: 5}]


def test_more_workers_than_there_is_room_for_are_not_waited_for(ray, monkeypatch):
    monkeypatch.setattr("surecut.runners.ray._ROOM_TO_COME", 5.0)
    here = ray.get_runtime_context().gcs_address
    made = dict(sc.Ray(here, workers=16).infer(Adding(1), list(range(20))))
    assert made == {number: number + 1 for number in range(20)}


def test_queries_are_divided_and_joined_as_if_they_had_never_been():
    scorer = Scorer(None, Queries([f"q{number}" for number in range(8)], [""] * 8), None, None, [], {})
    task = Task(range(8), range(2, 7))
    parts = [part for half in scorer.divided(task) for part in scorer.divided(half)]
    assert [part.queries for part in parts] == [range(2, 3), range(3, 4), range(4, 5), range(5, 7)]
    assert {part.group for part in parts} == {range(8)}
    assert scorer.divided(parts[0]) == []
    rows = pl.DataFrame({"query_id": ["q3"], "doc_id": ["d"], "retriever": [1.0], "reranker": [2.0]})
    sound = Scored(rows.cast({"retriever": pl.Float32}), [], 3)
    joined = scorer.joined([scorer.given_up(parts[0], "gone"), sound, scorer.given_up(parts[2], "gone")])
    assert joined.rows.equals(sound.rows)
    assert [each.query_id for each in joined.failures] == ["q2", "q4"]
    assert joined.cut == 3


def own_mistake(number):
    return number / 0


class Unsendable(Exception):
    def __init__(self, one, other):
        super().__init__(f"{one} and {other}")


def unsendable(number):
    raise Unsendable(number, 2)


def test_mistakes_of_ones_own_come_home_as_they_are(ray):
    with pytest.raises(ZeroDivisionError, match=r"^division by zero\n") as raised:
        list(sc.Ray().map(own_mistake, [1]))
    assert "in own_mistake" in raised.value.__notes__[0]
    with pytest.raises(RuntimeError, match=r"^Unsendable: 1 and 2"):
        list(sc.Ray().map(unsendable, [1]))


def test_a_refusal_keeps_the_commands_that_mend_it(ray):
    with pytest.raises(sc.InputError) as raised:
        list(sc.Ray().map(refused_with_a_cure, [1]))
    assert raised.value.commands == ("surecut demo",)


def test_what_ray_is_set_to_stays_as_it_was(ray):
    context = pytest.importorskip("ray.data").DataContext.get_current()
    context.enable_progress_bars = True
    list(sc.Ray().infer(Adding(1), [1]))
    assert context.enable_progress_bars


def test_very_many_items_are_done_in_rounds(ray, monkeypatch):
    monkeypatch.setattr("surecut.runners.ray._ROUND", 4)
    assert dict(sc.Ray().infer(Adding(1), list(range(10)))) == {number: number + 1 for number in range(10)}


def test_it_listens_where_nobody_else_can_reach_it(ray):
    assert {node["NodeManagerAddress"] for node in ray.nodes()} == {"127.0.0.1"}


@pytest.mark.parametrize(("token", "cause"), [(False, "does it ask for a token"), (True, "export RAY_AUTH_MODE=token")])
def test_a_head_that_does_not_take_us_in_is_not_said_to_be_absent(monkeypatch, tmp_path, token, cause):
    """Of another version, or it asks for a token."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    if token:
        (tmp_path / ".ray").mkdir()
        (tmp_path / ".ray" / "auth_token").write_text("secret")

    def refusing(*_, **__):
        raise ConnectionError("Failed to connect to Ray cluster")

    there = SimpleNamespace(is_initialized=lambda: False, init=refusing)
    monkeypatch.setattr(connecting, "needed", lambda *_: there)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(sc.InputError, match=rf"does not take this process .*Failed to connect.*{cause}"):
            connecting.connected(address)
    with pytest.raises(sc.InputError, match=r"no Ray cluster at .* start one with ray start --head"):
        connecting.connected(address)


def test_an_address_is_the_same_by_another_name(ray):
    port = ray.get_runtime_context().gcs_address.rpartition(":")[2]
    assert list(sc.Ray(f"localhost:{port}").map(squared, [3])) == [9]


@pytest.mark.parametrize("address", ["[::1]:6379", "10.0.0.1:6379"])
def test_a_host_is_reached_without_its_brackets(monkeypatch, address):
    asked = []

    def refused(place, timeout):
        asked.append(place)
        raise ConnectionRefusedError(111, "refused")

    monkeypatch.setattr(socket, "create_connection", refused)
    assert not connecting._answers(address)
    with pytest.raises(sc.InputError, match="no Ray cluster at"):
        connecting._refuse_nobody(address)
    assert asked == [(address.removesuffix(":6379").strip("[]"), 6379)] * 2


@pytest.mark.parametrize("address", ["ray://head:10001", "http://head:6379", "localhost", "local", "head:"])
def test_what_is_no_address_of_a_head_is_called_that(monkeypatch, address):
    there = SimpleNamespace(is_initialized=lambda: False)
    monkeypatch.setattr(connecting, "needed", lambda *_: there)
    with pytest.raises(sc.InputError, match=rf"'{address}' is not the address of a head, .* HOST:PORT"):
        connecting.connected(address)


def test_a_process_has_one_cluster(ray):
    with pytest.raises(sc.InputError, match=r"connected to Ray at '127.0.0.1:\d+', not at '127.0.0.1:1': ray.shutdown"):
        list(sc.Ray("127.0.0.1:1").map(squared, [1]))
    assert list(sc.Ray().map(squared, [2])) == [4]


@pytest.mark.parametrize(
    "given",
    [
        {"workers": 0},
        {"workers": 1.5},
        {"workers": "2"},
        {"cpus": 0},
        {"cpus": None},
        {"gpus": -1},
        {"gpus": "x"},
        {"address": ""},
    ],
    ids=str,
)
def test_impossible_workers_are_refused(given):
    with pytest.raises(sc.InputError, match=r"must be (a whole number of|a number|0, a share)|is a text like"):
        sc.Ray(**given)


def test_workers_that_fit_nowhere_are_refused(ray):
    for given in ({"gpus": 1}, {"gpus": 1, "workers": 3}, {"cpus": 64}):
        with pytest.raises(sc.InputError, match=r"no node of the cluster has them \(.* by node: 2 and 0\)"):
            list(sc.Ray(**given).infer(Adding(1), [1]))


def test_a_certificate_is_the_same_by_ray(ray, tmp_path, monkeypatch):
    monkeypatch.setattr("surecut.io.parts.ROWS", 2000)
    write_table(sc.simulate("dense-electra", queries=900, depth=30, seed=1, ties=True), tmp_path / "t")
    for options in ({}, {"target": sc.at_least(0.2), "rule": "score"}, {"target": sc.agreement(0.8, 5)}):
        by_ray = sc.calibrate(sc.scan_table(tmp_path / "t", runner=sc.Ray()), **options)
        assert by_ray.to_json() == sc.calibrate(sc.read_table(tmp_path / "t"), **options).to_json()
    check = by_ray.check(sc.scan_table(tmp_path / "t", runner=sc.Ray()))
    assert check == by_ray.check(sc.read_table(tmp_path / "t"))


@pytest.fixture
def system(tmp_path, monkeypatch):
    """A small collection, and recipes of every kind of encoding."""
    monkeypatch.setenv("SURECUT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("surecut.system.blocks._SIZE", 64)
    beir = write_beir(tmp_path / "data", queries=60, documents=300)
    cross = cross_encoder(tmp_path / "cross", poison=POISON)
    sections = {
        "bm25": 'kind = "bm25"',
        "dense": f'kind = "dense"\nmodel = "{bi_encoder(tmp_path / "bi", poison=POISON)}"\npooling = "mean"',
        "splade": f'kind = "splade"\nmodel = "{expander(tmp_path / "splade", poison=POISON)}"',
    }

    def recipe(retriever):
        section = f'kind = "cross-encoder"\nmodel = "{cross}"'
        path = tmp_path / f"{retriever}.toml"
        return write_recipe(path, collection=f'beir = "{beir}"', retriever=sections[retriever], reranker=section)

    return recipe


@pytest.mark.parametrize("retriever", ["bm25", "dense", "splade"])
def test_a_table_is_the_same_by_ray_with_what_failed_named(ray, system, tmp_path, monkeypatch, retriever):
    path = system(retriever)
    local = score(in_small_blocks(path), tmp_path / "local")
    monkeypatch.setenv("SURECUT_CACHE", str(tmp_path / "another-cache"))  # so that nothing is there already
    remote = score(in_small_blocks(path), tmp_path / "ray", runner=sc.Ray(workers=2))
    assert contents(tmp_path / "ray") == contents(tmp_path / "local")
    assert remote == local
    assert remote.failures


def test_relative_names_mean_the_same_over_there(ray, system, tmp_path, monkeypatch):
    path = system("dense")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SURECUT_CACHE", "kept")
    path.write_text(path.read_text().replace(f"{tmp_path}/", "./"))
    score("dense.toml", "t", runner=sc.Ray())
    certificate = sc.calibrate(sc.scan_table("t", runner=sc.Ray(), missing_reranker="lowest"), target=sc.max_drop(0.5))
    assert certificate.calibration["queries"] == 60


def test_what_one_runner_began_the_other_finishes(ray, system, tmp_path):
    from tests.system.making import After, stop

    path = system("bm25")
    score(in_small_blocks(path), tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        score(in_small_blocks(path), tmp_path / "t", After(3, stop), sc.Ray())
    assert not (tmp_path / "t" / "meta.json").exists()
    score(in_small_blocks(path), tmp_path / "t")
    assert contents(tmp_path / "t") == contents(tmp_path / "whole")


def test_documents_that_are_too_long_are_counted_wherever_they_are_cut(ray, system, tmp_path):
    path = system("bm25")
    path.write_text(path.read_text().replace("[reranker]\n", "[reranker]\nmax_length = 16\n"))
    local = score(read_recipe(path), tmp_path / "local")
    assert score(read_recipe(path), tmp_path / "ray", runner=sc.Ray()).notes == local.notes
    assert "tokens: their documents were cut" in local.notes[0]


TERMINATED = """
import os, signal
import surecut as sc
sc.Ray().start()
os.kill(os.getpid(), signal.SIGTERM)
print("still there")
"""


STARTING = """
import signal, sys
from surecut.runners import connecting
with connecting._ends_of_its_own():
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(number))  # as Ray does it
    signal.raise_signal(signal.SIGTERM)
"""
NEVER_BACK = """
import ctypes, os, signal, sys, threading
from surecut.runners import connecting
connecting._MOMENT = 0.2
signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(number))
library, mutex = ctypes.CDLL(None), ctypes.create_string_buffer(64)
library.pthread_mutex_lock(mutex)
threading.Timer(0.5, os.kill, (os.getpid(), int(sys.argv[1]))).start()
with connecting._in_time("head:6379"), connecting._nothing_on_stderr():
    library.pthread_mutex_lock(mutex)
"""


def test_a_process_that_is_terminated_while_ray_starts_has_not_ended_well():
    assert subprocess.run([sys.executable, "-c", STARTING]).returncode == -signal.SIGTERM


@pytest.mark.parametrize(("number", "word"), [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated")])
def test_a_signal_ends_a_wait_in_compiled_code(number, word):
    command = [sys.executable, "-c", NEVER_BACK, str(int(number))]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr) == (128 + number, f"surecut: {word} while Ray was waited for\n")


def test_a_process_that_is_terminated_has_not_ended_well(tmp_path):
    ended = subprocess.run([sys.executable, "-c", TERMINATED], cwd=tmp_path, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout) == (-signal.SIGTERM, "")


SLOW = """
from surecut.runners import connecting
connecting._LONGEST_START = 1.0
with connecting._in_time("head:6379"), connecting._nothing_on_stderr():
    import time
    time.sleep(30)
"""


def test_a_cluster_that_is_never_reached_is_not_waited_for():
    ended = subprocess.run([sys.executable, "-c", SLOW], capture_output=True, text=True)
    assert ended.returncode == 2
    assert ended.stderr.startswith("surecut: no Ray cluster at 'head:6379' within 1 seconds: can this machine reach")
    assert len(ended.stderr.splitlines()) == 1


ENDING = """
import atexit, signal, sys
import surecut as sc
from surecut import cli

def run():
    atexit.register(signal.raise_signal, int(sys.argv[1]))  # called after what Ray registers
    sc.Ray().start()
    atexit.register(print, "ending")
    return 0

cli._run = run
cli.main()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_ray_ends_comes_too_late(tmp_path, number):
    ended = subprocess.run(
        [sys.executable, "-c", ENDING, str(int(number))], cwd=tmp_path, capture_output=True, text=True
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "ending\n", "")


def test_nobody_is_at_that_address(monkeypatch):
    library = pytest.importorskip("ray")
    monkeypatch.setattr(library, "is_initialized", lambda: False)
    with pytest.raises(sc.InputError, match=r"^no Ray cluster at '127.0.0.1:1' \(.*refused\): start one with"):
        list(sc.Ray("127.0.0.1:1").map(squared, [1]))


def test_without_the_extra_it_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    with pytest.raises(sc.InputError, match=r"pip install 'surecut\[ray\]'"):
        list(sc.Ray().map(squared, [1]))
