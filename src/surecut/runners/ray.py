"""Ray: the same work on the nodes of a cluster, or in processes of this machine.

Every node needs surecut, and the same files under the same names: score tables, collections, models, and the folder
that SURECUT_CACHE names. What a node was at when it went away is done again by another.
"""

import atexit
import logging
import math
import os
import pickle
import shutil
import signal
import socket
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from surecut.errors import EvaluatorsDisagree, InputError
from surecut.extras import needed
from surecut.runners import Worker
from surecut.runners.threads import THREADS
from surecut.watching import SILENT, Watch

T = TypeVar("T")
_STDERR = 2
_LEAST = 0.01  # of a processor or GPU
_PATIENCE = 10.0  # seconds
_AHEAD = 3  # tasks a processor that are waiting or done, with the one it is at
_TRIES = 3  # of an item that ends its worker
_TASK_TRIES = 5  # of a task whose worker or node goes away
_MOST_BLOCKS = 10_000  # of Ray Data; of more items, several go into a block
_ROOM_TO_COME = 600.0  # seconds that a cluster has to grow, where workers are asked for that it has no room for yet
_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_BACKEND_LOG_LEVEL": "fatal"}  # nobody is told, nothing is printed
_ON_LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}  # how Ray itself keeps to an address nobody else can reach
_PASSED_ON = ("SURECUT_CACHE", "SURECUT_DATA", "SURECUT_MODELS", "HF_HOME", "HF_HUB_OFFLINE", "PYTHONPATH")


@dataclass(frozen=True)
class Ray:
    """A Ray cluster by its address ("auto": the one that this machine is a node of), or one of this machine alone.

    `workers` hold a model each (as many as there is room for), with so many processors and GPUs.

    >>> Ray("10.0.0.1:6379", workers=8, gpus=1)  # doctest: +SKIP
    """

    address: str | None = None
    workers: int | None = None
    cpus: float = 1.0
    gpus: float = 0.0

    def __post_init__(self) -> None:
        if self.workers is not None and not (isinstance(self.workers, int) and self.workers >= 1):
            raise InputError(f"workers must be a whole number of at least 1, not {self.workers!r}")
        for name, value in (("cpus", self.cpus), ("gpus", self.gpus)):
            if not isinstance(value, int | float):
                raise InputError(f"{name} must be a number, not {value!r}")
        if not _LEAST <= self.cpus < math.inf:
            raise InputError(f"cpus must be a number of at least {_LEAST:g}, not {self.cpus}")
        if not (self.gpus == 0 or _LEAST <= self.gpus <= 1 or (self.gpus > 1 and float(self.gpus).is_integer())):
            raise InputError(f"gpus must be 0, a share of one GPU, or a whole number, not {self.gpus}")

    def start(self, watch: Watch = SILENT) -> None:
        """Connect, before anything else is under way."""
        watch.stage(f"connecting to Ray at {self.address}" if self.address else "starting Ray")
        self._connected()

    def map(self, work: Callable[[Any], T], items: Iterable[Any]) -> Iterator[T]:
        """A task an item, on one processor; as many at a time as the cluster has room for."""
        ray = self._connected()
        room = _AHEAD * _room(ray, 1.0, 0.0)
        task = ray.remote(num_cpus=1, max_retries=_TASK_TRIES, runtime_env=_environment(1.0))(_attempted)
        shared, here, left = ray.put(work), os.getcwd(), iter(items)
        waiting = deque(task.remote(shared, item, here) for item in islice(left, room))
        try:
            while waiting:
                with _crashes_in_words(ray):
                    made = ray.get(waiting.popleft())
                waiting.extend(task.remote(shared, item, here) for item in islice(left, 1))
                yield _unwrapped(made)
        finally:
            for running in waiting:
                with suppress(Exception):
                    ray.cancel(running)

    def infer(self, worker: Worker[T], items: Sequence[Any]) -> Iterator[tuple[int, T]]:
        """Ray Data's batch inference: a pool of actors that hold the model, each at one block of items at a time."""
        if not items:
            return
        ray = self._connected()
        data = needed("ray.data", "ray")
        most = self._workers(ray, data, len(items))
        ledger = _shared_folder() / "attempts" / uuid4().hex
        ledger.mkdir(parents=True, exist_ok=True)
        sent = ray.cloudpickle.dumps(worker)
        made = data.from_items(_blocks(items), override_num_blocks=min(len(items), _MOST_BLOCKS)).map_batches(
            _Actor,
            fn_constructor_args=(sent, os.getcwd(), str(ledger)),
            batch_size=1,
            compute=data.ActorPoolStrategy(min_size=1, max_size=most, initial_size=most),
            num_cpus=self.cpus,
            num_gpus=self.gpus or None,
            runtime_env=_environment(self.cpus),
        )
        try:
            with _crashes_in_words(ray):
                for row in made.iter_rows():
                    for place, result in pickle.loads(row["made"]):
                        given_up = isinstance(result, _GivenUp)
                        yield place, worker.given_up(items[place], _WHY) if given_up else _unwrapped(result)
        finally:
            shutil.rmtree(ledger, ignore_errors=True)

    def _workers(self, ray: Any, data: Any, items: int) -> int:
        """How many workers to have at most; a cluster may still grow where more are asked for than it has room for."""
        context = data.DataContext.get_current()
        context.enable_progress_bars = False
        context.print_on_execution_start = False
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        if self.workers is not None and self.address is not None:
            context.wait_for_min_actors_s = _ROOM_TO_COME
            return min(items, self.workers)
        return min(items, self.workers or items, _room(ray, self.cpus, self.gpus))

    def _connected(self) -> Any:
        """The library, once it is connected."""
        for name, value in (_QUIET if self.address else {**_QUIET, **_ON_LOOPBACK}).items():
            os.environ.setdefault(name, value)
        ray = needed("ray", "ray")
        if ray.is_initialized():
            _refuse_another(ray, self.address)
            return ray
        local = {} if self.address else {"include_dashboard": False, "_node_ip_address": "127.0.0.1"}
        try:
            self._refuse_nobody()
            with _nothing_on_stderr():
                ray.init(self.address or "local", logging_level=logging.ERROR, log_to_driver=False, **local)
        except (OSError, RuntimeError, ValueError) as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise InputError(
                f"no Ray cluster at '{self.address or 'this machine'}' ({reason}): start one with ray start --head, or "
                "leave the address out"
            ) from None
        _joined.append(self.address)
        atexit.register(_hold_off_interrupts)  # after Ray's own, so before it: what was done is done
        return ray

    def _refuse_nobody(self) -> None:
        """Ray itself would wait for minutes."""
        host, _, port = (self.address or "").rpartition(":")
        if port.isdecimal() and "/" not in host:
            socket.create_connection((host, int(port)), timeout=_PATIENCE).close()


def _hold_off_interrupts() -> None:
    with suppress(ValueError):  # not the main thread
        signal.signal(signal.SIGINT, signal.SIG_IGN)


_joined: list[str | None] = []  # the address that this process is connected to, if surecut did it


def _refuse_another(ray: Any, address: str | None) -> None:
    """A process has one Ray; who has connected to one has chosen it."""
    if address in (None, "auto") or (_joined and _joined[-1] == address):
        return
    there = ray.get_runtime_context().gcs_address
    if there != address:
        raise InputError(f"this process is connected to Ray at '{there}', not at '{address}': ray.shutdown() first")


def _room(ray: Any, cpus: float, gpus: float) -> int:
    """How many workers the nodes can hold as they are."""
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    room = sum(int(min(_times(each, "CPU", cpus), _times(each, "GPU", gpus))) for each in nodes)
    if room < 1:
        have = ", ".join(f"{each.get('CPU', 0):g} and {each.get('GPU', 0):g}" for each in nodes)
        raise InputError(
            f"a worker needs {cpus:g} processors and {gpus:g} GPUs, and no node of the cluster has them (processors "
            f"and GPUs by node: {have}): ask for less (--cpus, --gpus)"
        )
    return room


def _times(node: dict[str, float], what: str, needed: float) -> float:
    return node.get(what, 0.0) / needed if needed else float("inf")


def _environment(cpus: float) -> dict[str, Any]:
    """What workers do with threads is bounded by the processors they have; they find the same files."""
    threads = str(max(1, int(cpus)))
    passed_on = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    named = {"SURECUT_CACHE": str(_shared_folder()), THREADS: threads, "POLARS_MAX_THREADS": threads}
    return {"env_vars": {**passed_on, **named, "NUMBA_NUM_THREADS": threads}}


def _shared_folder() -> Path:
    from surecut.system.cache import cache_folder

    return cache_folder().resolve()


def _blocks(items: Sequence[Any]) -> list[dict[str, Any]]:
    """Items that follow each other, with their places; each by itself, unless there are very many."""
    size = -(-len(items) // _MOST_BLOCKS)
    numbered = list(enumerate(items))
    return [{"items": pickle.dumps(numbered[first : first + size])} for first in range(0, len(items), size)]


@contextmanager
def _nothing_on_stderr() -> Iterator[None]:
    """Ray's compiled parts announce themselves there; what goes wrong is raised."""
    try:
        kept = os.dup(_STDERR)
    except OSError:  # it is closed
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, _STDERR)
    try:
        yield
    finally:
        os.dup2(kept, _STDERR)
        os.close(kept)
        os.close(nowhere)


@contextmanager
def _crashes_in_words(ray: Any) -> Iterator[None]:
    """What Ray gives up on is a sentence."""
    try:
        yield
    except (ray.exceptions.RayError, TimeoutError) as error:
        reason = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise InputError(
            f"Ray gave up ({reason[:300]}): is there room for the workers, with their memory and GPUs, and has every "
            "node surecut with the same extras? What was done is kept: the same command goes on"
        ) from None


_WHY = f"ended its worker {_TRIES} times: out of memory, or a fault of the library"


@dataclass(frozen=True)
class _GivenUp:
    """Stands for what would end its worker once more."""


@dataclass(frozen=True)
class _Refused:
    """A refusal on its way home: raised over there it would come wrapped in others."""

    kind: type[Exception]
    sentence: str


def _attempted(work: Callable[[Any], Any], item: Any, folder: str) -> Any:
    """Work where the command was given, so that relative names mean the same."""
    with suppress(OSError):
        os.chdir(folder)
    try:
        return work(item)
    except InputError as error:
        return _Refused(InputError, error.sentence)
    except EvaluatorsDisagree as error:
        return _Refused(EvaluatorsDisagree, str(error))
    except OSError as error:
        where = f"{error.filename or folder}: {error.strerror or error}, on {socket.gethostname()}"
        return _Refused(InputError, f"{where}: every node needs the same files under the same names")


def _unwrapped(made: Any) -> Any:
    if isinstance(made, _Refused):
        raise made.kind(made.sentence)
    return made


class _Actor:
    """Holds what a worker needs, from its first item on.

    What is begun is noted in a folder that outlives the actor: an item that has ended its worker too often is given up.
    """

    def __init__(self, worker: bytes, folder: str, ledger: str) -> None:
        self._sent, self._folder, self._ledger = worker, folder, Path(ledger)
        self._work: Callable[[Any], Any] | None = None

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        made = [(place, self._made(place, item)) for place, item in pickle.loads(batch["items"][0])]
        return {"made": [pickle.dumps(made)]}

    def _made(self, place: int, item: Any) -> Any:
        note = self._ledger / str(place)
        if _begun(note) > _TRIES:
            return _GivenUp()
        made = _attempted(self._done, item, self._folder)
        note.unlink(missing_ok=True)
        return made

    def _done(self, item: Any) -> Any:
        if self._work is None:
            import ray

            self._work = ray.cloudpickle.loads(self._sent)()
        return self._work(item)


def _begun(note: Path) -> int:
    """How often something was begun, this time included; once, where that cannot be noted."""
    try:
        with note.open("ab") as file:
            file.write(b".")
            return file.tell()
    except OSError:
        return 1
