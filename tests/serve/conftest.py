"""A service with certificates of a small system, in this process and as a process of its own."""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

import surecut as sc
from surecut.certificate import Certificate, load_certificate
from surecut.monitoring.store import PATIENCE, Store
from surecut.serve.app import make_app
from surecut.serve.limits import Keys, Limits
from surecut.serve.service import Service
from surecut.serve.shelf import Shelf

DEPTH = 40
PRUNE = "/v1/certificates/main/prune"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def system() -> sc.Candidates:
    return sc.simulate("dense-electra", queries=600, depth=DEPTH, seed=8)


@pytest.fixture(scope="session")
def certificates(system) -> dict[str, Certificate]:
    """Two that prune, and one that abstained."""
    return {
        "main": sc.calibrate(system, target=sc.max_drop(0.05)),
        "top": sc.calibrate(system, target=sc.max_drop(0.1), rule="rank"),
        "nothing": sc.calibrate(system, target=sc.max_drop(0.0001)),
    }


@pytest.fixture
def paths(certificates, tmp_path) -> dict[str, Path]:
    for name, certificate in certificates.items():
        certificate.save(tmp_path / f"{name}.json")
    return {name: tmp_path / f"{name}.json" for name in certificates}


@pytest.fixture
def make(paths, tmp_path) -> Callable[..., Service]:
    """A service with these settings."""

    def made(
        *,
        keys: tuple[str, ...] = (),
        limits: Limits | None = None,
        monitored: bool = True,
        patience: float = PATIENCE,
        **more: Any,
    ) -> Service:
        store = Store(tmp_path / "monitor.db", patience=patience) if monitored else None
        return Service(Shelf(paths, load_certificate), limits or Limits(), Keys(keys), store, **more)

    return made


@pytest.fixture
def client(make) -> Callable[..., httpx.AsyncClient]:
    """A client of a service in this process; what it raises on its own account fails the test."""

    def connected(service: Service | None = None, **settings: Any) -> httpx.AsyncClient:
        app = make_app(service or make(**settings))
        return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://service")

    return connected


def scores_of(system: sc.Candidates, query: int = 0) -> list[float]:
    found: list[float] = system.retriever[query * DEPTH : (query + 1) * DEPTH].tolist()
    return found


@dataclass
class Running:
    """A service that runs as a process of its own."""

    process: "subprocess.Popen[str]"
    lines: "queue.Queue[dict[str, Any]]" = field(default_factory=queue.Queue)
    said: list[dict[str, Any]] = field(default_factory=list)
    port: int = 0

    def __post_init__(self) -> None:
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.put(json.loads(line) if line.startswith("{") else {"event": "text", "text": line})

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def wait_for(self, event: str, seconds: float = 60.0) -> dict[str, Any]:
        latest = time.monotonic() + seconds
        while (left := latest - time.monotonic()) > 0:
            try:
                line = self.lines.get(timeout=left)
            except queue.Empty:
                break
            self.said.append(line)
            if line.get("event") == event:
                return line
        raise AssertionError(f"no '{event}' in {self.said}")

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


@pytest.fixture
def start(tmp_path) -> Iterator[Callable[..., Running]]:
    """Start `surecut serve`, on a free port unless one is named; it does not outlive the test."""
    started: list[Running] = []

    def begin(*words: object, wait: bool = True, port: int = 0) -> Running:
        command = [sys.executable, "-m", "surecut", "serve", *map(str, words), "--port", str(port)]
        process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, env=dict(os.environ))
        running = Running(process)
        started.append(running)

        if wait:
            running.port = running.wait_for("listening")["port"]
        return running

    yield begin
    for running in started:
        if running.process.poll() is None:
            running.process.kill()
        running.process.wait()
