"""Ray: the same work on the nodes of a cluster, or in processes of this machine.

Every node needs surecut, and the same files under the same names: score tables, collections, models, and the folder
that SURECUT_CACHE names. What a node was at when it went away is done again by another.
"""

import logging
import os
import pickle
import socket
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from surecut.errors import EvaluatorsDisagree, InputError
from surecut.extras import needed
from surecut.runners import Worker
from surecut.runners.threads import THREADS

T = TypeVar("T")
_STDERR = 2
_PATIENCE = 10.0  # seconds
_AHEAD = 3  # tasks a processor that are waiting or done, with the one it is at
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
        if self.workers is not None and self.workers < 1:
            raise InputError(f"workers must be at least 1, not {self.workers}")
        if self.cpus <= 0 or self.gpus < 0:
            raise InputError(f"a worker needs processors, and no less than 0 GPUs, not {self.cpus:g} and {self.gpus:g}")

    def map(self, work: Callable[[Any], T], items: Iterable[Any]) -> Iterator[T]:
        """A task an item, on one processor; as many at a time as the cluster has room for."""
        ray = self._connected()
        task = ray.remote(num_cpus=1, max_retries=-1, runtime_env=self._environment(1.0))(_attempted)
        shared, here, left = ray.put(work), os.getcwd(), iter(items)
        room = _AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))
        waiting = deque(task.remote(shared, item, here) for item in islice(left, room))
        try:
            while waiting:
                made = _unwrapped(ray.get(waiting.popleft()))
                waiting.extend(task.remote(shared, item, here) for item in islice(left, 1))
                yield made
        finally:
            for running in waiting:
                with suppress(Exception):
                    ray.cancel(running)

    def infer(self, worker: Worker[T], items: Sequence[Any]) -> Iterator[tuple[int, T]]:
        """Ray Data's batch inference: a pool of actors that hold the model, and a block for each item."""
        if not items:
            return
        ray = self._connected()
        data = needed("ray.data", "ray")
        context = data.DataContext.get_current()
        context.enable_progress_bars = False
        context.print_on_execution_start = False
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        rows = [{"place": place, "item": pickle.dumps(item)} for place, item in enumerate(items)]
        most = min(len(items), self.workers or self._room(ray))
        made = data.from_items(rows, override_num_blocks=len(rows)).map_batches(
            _Actor,
            fn_constructor_args=(worker, os.getcwd()),
            batch_size=1,
            compute=data.ActorPoolStrategy(min_size=1, max_size=most, initial_size=most),
            num_cpus=self.cpus,
            num_gpus=self.gpus or None,
            runtime_env=self._environment(self.cpus),
        )
        for row in made.iter_rows():
            yield int(row["place"]), _unwrapped(pickle.loads(row["made"]))

    def _room(self, ray: Any) -> int:
        """How many workers the cluster can hold as it is."""
        there = ray.cluster_resources()
        room = there.get("CPU", 0.0) / self.cpus
        if self.gpus:
            room = min(room, there.get("GPU", 0.0) / self.gpus)
        if room < 1:
            have = f"{there.get('CPU', 0):g} processors and {there.get('GPU', 0):g} GPUs"
            raise InputError(
                f"a worker needs {self.cpus:g} processors and {self.gpus:g} GPUs, and the cluster has {have}: "
                "ask for less (--cpus, --gpus)"
            )
        return int(room)

    def _connected(self) -> Any:
        """The library, once it is connected."""
        for name, value in (_QUIET if self.address else {**_QUIET, **_ON_LOOPBACK}).items():
            os.environ.setdefault(name, value)
        ray = needed("ray", "ray")
        if ray.is_initialized():
            return ray
        local = {} if self.address else {"include_dashboard": False}
        try:
            self._refuse_nobody()
            with _nothing_on_stderr():
                ray.init(self.address, logging_level=logging.ERROR, log_to_driver=False, **local)
        except (OSError, RuntimeError, ValueError) as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise InputError(
                f"no Ray cluster at '{self.address or 'this machine'}' ({reason}): start one with ray start --head, or "
                "leave the address out"
            ) from None
        return ray

    def _refuse_nobody(self) -> None:
        """Ray itself would wait for minutes."""
        host, _, port = (self.address or "").rpartition(":")
        if port.isdecimal() and "/" not in host:
            socket.create_connection((host, int(port)), timeout=_PATIENCE).close()

    def _environment(self, cpus: float) -> dict[str, Any]:
        """What workers do with threads is bounded by the processors they have; they find the same files."""
        from surecut.system.cache import cache_folder

        threads = str(max(1, int(cpus)))
        passed_on = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        named = {"SURECUT_CACHE": str(cache_folder().resolve()), THREADS: threads, "POLARS_MAX_THREADS": threads}
        return {"env_vars": {**passed_on, **named, "NUMBA_NUM_THREADS": threads}}


@contextmanager
def _nothing_on_stderr() -> Iterator[None]:
    """Ray's compiled parts announce themselves there; what goes wrong is raised."""
    kept, nowhere = os.dup(_STDERR), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, _STDERR)
    try:
        yield
    finally:
        os.dup2(kept, _STDERR)
        os.close(kept)
        os.close(nowhere)


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


def _unwrapped(made: Any) -> Any:
    if isinstance(made, _Refused):
        raise made.kind(made.sentence)
    return made


class _Actor:
    """Holds what a worker needs, from its first item on."""

    def __init__(self, worker: Worker[Any], folder: str) -> None:
        self._worker, self._folder = worker, folder
        self._work: Callable[[Any], Any] | None = None

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        made = _attempted(self._done, pickle.loads(batch["item"][0]), self._folder)
        return {"place": batch["place"], "made": [pickle.dumps(made)]}

    def _done(self, item: Any) -> Any:
        if self._work is None:
            self._work = self._worker()
        return self._work(item)
