"""Ray: the same work on the nodes of a cluster, or in processes of this machine.

Every node needs surecut, and the same files under the same names: score tables, collections, models, and the folder
that SURECUT_CACHE names. What a node was at when it went away is done again by another.
"""

import logging
import math
import os
import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from surecut.errors import InputError
from surecut.extras import needed
from surecut.runners import Worker
from surecut.runners.attempts import Actor, attempted, ledger_in, unwrapped
from surecut.runners.connecting import AGAIN, connected, room_for
from surecut.runners.threads import THREADS
from surecut.watching import SILENT, Watch

T = TypeVar("T")
_LEAST = 0.01  # of a processor or GPU
_AHEAD = 3  # tasks a processor that are waiting or done, with the one it is at
_TASK_TRIES = 5  # of a task whose worker or node goes away
_DEATHS = "max_consecutive_actor_init_deaths"  # in a row, of workers whose node goes away as they begin
_ROUND = 10_000  # items; Ray Data keeps an account of each, so more of them follow in rounds
_ROOM_TO_COME = 600.0  # seconds that a cluster has to grow, where there is no room yet for any worker
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
        sent = ray.cloudpickle.dumps(worker)
        rows = [{"place": place, "item": pickle.dumps(item)} for place, item in enumerate(items)]
        with (
            ledger_in(_shared_folder() / "attempts") as ledger,
            _quiet(data, self._patience),
            _crashes_in_words(ray),
        ):
            first, most = self._workers(ray, len(items))
            made = data.from_items(rows, override_num_blocks=len(rows)).map_batches(
                Actor,
                fn_constructor_args=(sent, os.getcwd(), str(ledger)),
                batch_size=1,
                compute=data.ActorPoolStrategy(min_size=1, max_size=most, initial_size=first),
                num_cpus=self.cpus,
                num_gpus=self.gpus or None,
                runtime_env=_environment(self.cpus),
            )
            for row in made.iter_rows():
                yield row["place"], unwrapped(pickle.loads(row["made"]))

    @property
    def _patience(self) -> float | None:
        """How long a cluster may take to grow until it has room for a worker."""
        return _ROOM_TO_COME if self._may_grow else None

    @property
    def _may_grow(self) -> bool:
        """Some clusters start nodes for the workers they are asked for."""
        return self.workers is not None and self.address is not None

    def _workers(self, ray: Any, items: int) -> tuple[int, int]:
        """How many workers to begin with, those that there is room for, and how many to have at most."""
        asked = min(items, self.workers or items)
        room = min(asked, room_for(ray, self.cpus, self.gpus, to_come=self._may_grow))
        return max(room, 1), asked if self._may_grow else room


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
            f"node surecut with the same extras? ({AGAIN})"
        ) from None
