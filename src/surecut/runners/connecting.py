"""Connecting to Ray: one cluster a process, quietly, and what its nodes have room for."""

import atexit
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

from surecut.errors import InputError
from surecut.extras import needed
from surecut.signals import WORDS, status_of

AGAIN = "the same command can be called again (surecut score goes on where it was)"
_STDERR = 2
_PATIENCE = 10.0  # seconds, for an answer
_LONGEST_START = 180.0  # seconds; Ray itself has no end of waiting for a head that it cannot reach
_MOMENT = 3.0  # seconds, for Ray to come back once the process is to end
_LOOK_AGAIN = 5.0  # seconds
_FAILED = 2  # exit status
_WITHOUT_HEAD = 40.0  # seconds; Ray itself ends the process after 60, without a word
_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",  # nobody is told
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".*",  # of what went wrong elsewhere, which Ray prints on standard output
}
_ON_LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}  # how Ray itself keeps to an address nobody else can reach

_joined: dict[str | None, str] = {}  # addresses this process has connected to, with the cluster that it found there


def connected(address: str | None) -> Any:
    """The library, once it is connected to a cluster (None: to one of this machine alone)."""
    here = address is None or address.startswith(("127.", "localhost:"))
    for name, value in ({**_QUIET, **_ON_LOOPBACK} if here else _QUIET).items():
        os.environ.setdefault(name, value)
    if "ray" not in sys.modules:
        atexit.register(_hold_off_signals)  # before Ray's own, so after it: it lets SIGTERM through again as it ends
    ray = needed("ray", "ray")
    if ray.is_initialized():
        _refuse_another(ray, address)
        return ray
    _refuse_others(address)
    local = {} if address else {"include_dashboard": False, "_node_ip_address": "127.0.0.1"}
    answered = _refuse_nobody(address)
    try:
        with _ends_of_its_own(), _in_time(address), _nothing_on_stderr():
            ray.init(address or "local", logging_level=logging.ERROR, log_to_driver=False, **local)
    except (OSError, RuntimeError, ValueError) as error:
        if not answered:
            raise _no_cluster(address, error) from None
        raise _refuses_us(str(address), error) from None
    _joined[address] = ray.get_runtime_context().gcs_address
    atexit.register(_hold_off_signals)  # after Ray's own, so before it: what was done is done
    if address is not None:
        threading.Thread(target=_watch_head, args=(ray,), daemon=True).start()
    return ray


def _refuses_us(address: str, error: Exception) -> InputError:
    kept = Path(os.environ.get("RAY_AUTH_TOKEN_PATH") or Path.home() / ".ray" / "auth_token")
    if "RAY_AUTH_MODE" not in os.environ and ("RAY_AUTH_TOKEN" in os.environ or kept.exists()):
        cause = "ray start has a cluster ask for a token where there is one, as here: export RAY_AUTH_MODE=token. Or "
    else:
        cause = "does it ask for a token (RAY_AUTH_MODE, RAY_AUTH_TOKEN)? Or "
    return InputError(
        f"what is at '{address}' does not take this process into its cluster ({_first_line(error)}): {cause}is it not "
        "the head of a Ray cluster, or has it another version of Ray or Python?"
    )


@contextmanager
def _ends_of_its_own() -> Iterator[None]:
    """SIGTERM ends the process as it did before: with Ray's handler its status would be that of success."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    except SystemExit:  # what Ray's handler raises while Ray starts
        _handle_again(before)
        signal.raise_signal(signal.SIGTERM)
        raise
    finally:
        _handle_again(before)


def _handle_again(before: Any) -> None:
    with suppress(ValueError):  # not the main thread: Ray has set none either
        signal.signal(signal.SIGTERM, signal.SIG_DFL if before is None else before)


@contextmanager
def _in_time(address: str | None) -> Iterator[None]:
    """Ray waits in compiled code, where nothing can be raised: not when it takes too long, nor by a signal."""
    try:
        stderr = os.dup(_STDERR)  # as it is now: while Ray starts it is another
    except OSError:  # it is closed
        stderr = os.open(os.devnull, os.O_WRONLY)
    heard, told = socket.socketpair()
    told.setblocking(False)
    before = _tell_of_signals(told.fileno())
    watching = threading.Thread(target=_watch_start, args=(heard, address, stderr), daemon=True)
    watching.start()
    try:
        yield
    finally:
        _tell_of_signals(before)
        told.close()
        watching.join()
        heard.close()
        os.close(stderr)


def _tell_of_signals(place: int) -> int:
    """Have the numbers of signals written there; returned is where they were written before."""
    try:
        return signal.set_wakeup_fd(place, warn_on_full_buffer=False)
    except ValueError:  # not the main thread: signals are none of its business
        return -1


def _watch_start(heard: socket.socket, address: str | None, stderr: int) -> None:
    """End the process if Ray is not there in time, or does not come back when the process is to end."""
    words = (
        f"no Ray cluster at '{address or 'this machine'}' within {_LONGEST_START:g} seconds: can this machine reach "
        "the head, and has it the same version of Ray and Python?"
    )
    limit, status = time.monotonic() + _LONGEST_START, _FAILED
    while True:
        heard.settimeout(max(limit - time.monotonic(), 0.001))
        try:
            numbers = heard.recv(1)
        except TimeoutError:
            _end(words, stderr, status)
        if not numbers:
            return  # Ray is there, or has said why not
        if numbers[0] in WORDS:
            words, status = f"{WORDS[signal.Signals(numbers[0])]} while Ray was waited for", status_of(numbers[0])
            limit = min(limit, time.monotonic() + _MOMENT)


def _watch_head(ray: Any) -> None:
    """When the head of the cluster is gone for long, so is everything: say so before Ray ends the process."""
    head = ray.get_runtime_context().gcs_address
    missing_since = None
    while _is_connected_to(ray, head):
        time.sleep(_LOOK_AGAIN)
        if _answers(head):
            missing_since = None
            continue
        missing_since = missing_since or time.monotonic()
        if time.monotonic() - missing_since > _WITHOUT_HEAD and _is_connected_to(ray, head):
            _end(f"the head of the Ray cluster at '{head}' is gone; {AGAIN}")


def _is_connected_to(ray: Any, head: str) -> bool:
    """Is that still the cluster of this process?"""
    return bool(ray.is_initialized() and ray.get_runtime_context().gcs_address == head)


def _answers(address: str) -> bool:
    try:
        socket.create_connection(_place(address), timeout=_PATIENCE).close()
    except OSError:
        return False
    return True


def _place(address: str) -> tuple[str, int]:
    """Host and port; brackets around a host with colons are no part of it."""
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)


def _end(words: str, stderr: int = _STDERR, status: int = _FAILED) -> NoReturn:
    """With one line, and the status of bad input or of a signal; there is nothing left that could be tidied up."""
    with suppress(OSError):
        os.write(stderr, f"surecut: {words}\n".encode())
    os._exit(status)


def _refuse_nobody(address: str | None) -> bool:
    """Say at once that nobody answers there, for which Ray itself would wait for minutes; does somebody for certain?"""
    if address in (None, "auto"):
        return False
    try:
        socket.create_connection(_place(address), timeout=_PATIENCE).close()
    except OSError as error:
        raise _no_cluster(address, error) from None
    return True


def _refuse_others(address: str | None) -> None:
    """With ray:// the head is not reached itself, so that nobody could tell whether it is still there."""
    if address not in (None, "auto") and ("://" in address or not address.rpartition(":")[2].isdecimal()):
        raise InputError(
            f"'{address}' is not the address of a head, which is HOST:PORT (6379 if nobody chose another), or auto on "
            "a node of its cluster"
        )


def _no_cluster(address: str | None, error: Exception) -> InputError:
    return InputError(
        f"no Ray cluster at '{address or 'this machine'}' ({_first_line(error)}): start one with ray start --head, or "
        "leave the address out"
    )


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _hold_off_signals() -> None:
    with suppress(ValueError):  # not the main thread
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _refuse_another(ray: Any, address: str | None) -> None:
    """A process has one Ray; who has connected to one has chosen it."""
    there = ray.get_runtime_context().gcs_address
    if address in (None, "auto", there) or _joined.get(address) == there or _names(address) & _names(there):
        return
    raise InputError(f"this process is connected to Ray at '{there}', not at '{address}': ray.shutdown() first")


def _names(address: str) -> set[Any]:
    """An address by numbers; none where it has no such."""
    try:
        host, port = _place(address)
        return {found[4][:2] for found in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)}
    except (OSError, ValueError):
        return set()


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


def room_for(ray: Any, cpus: float, gpus: float, to_come: bool = False) -> int:
    """How many workers the nodes can hold as they are; none is refused, unless other nodes may still come."""
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    room = sum(int(min(_times(each, "CPU", cpus), _times(each, "GPU", gpus))) for each in nodes)
    if room < 1 and not to_come:
        have = ", ".join(f"{each.get('CPU', 0):g} and {each.get('GPU', 0):g}" for each in nodes)
        raise InputError(
            f"a worker needs {cpus:g} processors and {gpus:g} GPUs, and no node of the cluster has them (processors "
            f"and GPUs by node: {have}): ask for less (--cpus, --gpus)"
        )
    return room


def _times(node: dict[str, float], what: str, needed: float) -> float:
    return node.get(what, 0.0) / needed if needed else float("inf")
