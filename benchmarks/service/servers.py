"""The servers that are compared, each a process of its own on loopback."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@contextmanager
def running(command: Sequence[str], port: int, log: str) -> Iterator[int]:
    """A server until the block is left; gives the id of its process."""
    with open(log, "wb") as said:
        process = subprocess.Popen([sys.executable, "-m", *command], stderr=said, stdout=said, env=os.environ)
    try:
        _wait_for(port, process)
        yield process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def _wait_for(port: int, process: "subprocess.Popen[bytes]", seconds: float = 120.0) -> None:
    latest = time.monotonic() + seconds
    while time.monotonic() < latest and process.poll() is None:
        with socket.socket() as trying:
            if trying.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise RuntimeError("a server did not start")
