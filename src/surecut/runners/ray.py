"""Ray: the same work on the nodes of a cluster, or in processes of this machine.

Every node needs surecut, and the same files under the same names: score tables, collections, models, and the folder
that SURECUT_CACHE names. What a node was at when it went away is done again by another.
"""

import logging
import math
import os
import pickle
import shutil
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from surecut.errors import InputError
from surecut.extras import needed
from surecut.runners import Worker
from surecut.runners.attempts import Actor, attempted, unwrapped
from surecut.runners.connecting import KEPT, connected, room_for
from surecut.runners.threads import THREADS
from surecut.watching import SILENT, Watch

T = TypeVar("T")
_LEAST = 0.01  # of a processor or GPU
_AHEAD = 3  # tasks a processor that are waiting or done, with the one it is at
_TASK_TRIES = 5  # of a task whose worker or node goes away
_DEATHS = "max_consecutive_actor_init_deaths"  # in a row, of workers whose node goes away as they begin
_ROUND = 10_000  # items; Ray Data keeps an account of each, so more of them follow in rounds
_ROOM_TO_COME = 600.0  # seconds that a cluster has to grow, where workers are asked for that it has no room for yet
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
        if self.address is not None and (not isinstance(self.address, str) or not self.address.strip()):
            raise InputError(f"the address of a Ray cluster is a text like head:6379, or auto, not {self.address!r}")
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
        connected(self.address)

    def map(self, work: Callable[[Any], T], items: Iterable[Any]) -> Iterator[T]:
        """A task an item, on one processor; as many at a time as the cluster has room for."""
        ray = connected(self.address)
        room = _AHEAD * room_for(ray, 1.0, 0.0)
        task = ray.remote(num_cpus=1, max_retries=_TASK_TRIES, runtime_env=_environment(1.0))(attempted)
        shared, here, left = ray.put(work), os.getcwd(), iter(items)
        waiting = deque(task.remote(shared, item, here) for item in islice(left, room))
        try:
            while waiting:
                with _crashes_in_words(ray):
                    made = ray.get(waiting.popleft())
                waiting.extend(task.remote(shared, item, here) for item in islice(left, 1))
                yield unwrapped(made)
        finally:
            for running in waiting:
                with suppress(Exception):
                    ray.cancel(running)

    def infer(self, worker: Worker[T], items: Sequence[Any]) -> Iterator[tuple[int, T]]:
        """Ray Data's batch inference: a pool of actors that hold the model, each at one item at a time."""
        for first in range(0, len(items), _ROUND):
            for place, made in self._round(worker, items[first : first + _ROUND]):
                yield first + place, made

    def _round(self, worker: Worker[T], items: Sequence[Any]) -> Iterator[tuple[int, T]]:
        ray = connected(self.address)
        data = needed("ray.data", "ray")
        ledger = _shared_folder() / "attempts" / uuid4().hex
        ledger.mkdir(parents=True, exist_ok=True)
        sent = ray.cloudpickle.dumps(worker)
        rows = [{"place": place, "item": pickle.dumps(item)} for place, item in enumerate(items)]
        try:
            with _quiet(data, self._patience), _crashes_in_words(ray):
                most = self._workers(ray, len(items))
                made = data.from_items(rows, override_num_blocks=len(rows)).map_batches(
                    Actor,
                    fn_constructor_args=(sent, os.getcwd(), str(ledger)),
                    batch_size=1,
                    compute=data.ActorPoolStrategy(min_size=1, max_size=most, initial_size=most),
                    num_cpus=self.cpus,
                    num_gpus=self.gpus or None,
                    runtime_env=_environment(self.cpus),
                )
                for row in made.iter_rows():
                    yield row["place"], unwrapped(pickle.loads(row["made"]))
        finally:
            shutil.rmtree(ledger, ignore_errors=True)

    @property
    def _patience(self) -> float | None:
        """How long a cluster may take to grow where more workers are asked for than it has room for."""
        return _ROOM_TO_COME if self.workers is not None and self.address is not None else None

    def _workers(self, ray: Any, items: int) -> int:
        """How many workers to have at most."""
        if self.workers is not None and self.address is not None:
            return min(items, self.workers)
        return min(items, self.workers or items, room_for(ray, self.cpus, self.gpus))


def _environment(cpus: float) -> dict[str, Any]:
    """What workers do with threads is bounded by the processors they have; they find the same files."""
    threads = str(max(1, int(cpus)))
    passed_on = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    named = {"SURECUT_CACHE": str(_shared_folder()), THREADS: threads, "POLARS_MAX_THREADS": threads}
    return {"env_vars": {**passed_on, **named, "NUMBA_NUM_THREADS": threads}}


def _shared_folder() -> Path:
    from surecut.system.cache import cache_folder

    return cache_folder().resolve()


@contextmanager
def _quiet(data: Any, patience: float | None) -> Iterator[None]:
    """Ray Data with no bars and words of its own, and as patient as need be; as it was before when this is over."""
    context, log = data.DataContext.get_current(), logging.getLogger("ray.data")
    wanted: dict[str, Any] = {"enable_progress_bars": False, "print_on_execution_start": False}
    if hasattr(context, _DEATHS):  # newer releases of Ray
        wanted[_DEATHS] = _TASK_TRIES
    if patience is not None:
        wanted["wait_for_min_actors_s"] = patience
    before, level = {name: getattr(context, name) for name in wanted}, log.level
    for name, value in wanted.items():
        setattr(context, name, value)
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(context, name, value)
        log.setLevel(level)


@contextmanager
def _crashes_in_words(ray: Any) -> Iterator[None]:
    """What Ray gives up on is a sentence."""
    try:
        yield
    except (ray.exceptions.RayError, TimeoutError) as error:
        reason = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise InputError(
            f"Ray gave up ({reason[:300]}): is there room for the workers, with their memory and GPUs, and has every "
            f"node surecut with the same extras? ({KEPT})"
        ) from None
