"""python -m benchmarks.service: the service under load by wrk, beside a plain FastAPI endpoint; writes the page."""

import argparse
import json
import shutil
import statistics
import subprocess
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import msgspec
import numpy as np
from rich.console import Console

from benchmarks.service.servers import free_port, running
from surecut import calibrate, simulate
from surecut.files import write_atomically
from surecut.markdown import pipe_table

PAGE = Path(__file__).parents[2] / "docs" / "service-measured.md"
SCRIPT = Path(__file__).with_name("load.lua")
DEPTH, BODIES, LIMIT = 1_000, 64, 0.5


@dataclass(frozen=True)
class Way:
    """One way of asking: which server, with which bodies."""

    name: str
    url: str
    media_type: str
    folder: Path


@dataclass(frozen=True)
class Round:
    """What wrk measured in one round."""

    requests: int
    seconds: float
    p50: float
    p99: float
    failed: int

    @property
    def rate(self) -> float:
        return self.requests / self.seconds


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.service", description=__doc__)
    parser.add_argument("--seconds", type=int, default=8, help="of one round")
    parser.add_argument("--rounds", type=int, default=5, help="of each server, taking turns")
    parser.add_argument("--connections", type=int, nargs="+", default=[4, 32], help="open at once")
    parser.add_argument("--no-page", action="store_true", help="print only")
    options = parser.parse_args()
    if shutil.which("wrk") is None:
        parser.error("wrk is not there: make system installs it")
    console = Console(stderr=True, highlight=False)
    with tempfile.TemporaryDirectory() as place:
        found = measure(Path(place), options.connections, options.rounds, options.seconds, console)
    text = page(found, options.rounds, options.seconds)
    print(text)
    if not options.no_page:
        write_atomically(PAGE, text)
    ok = all(rate_of(rounds["surecut"]) >= LIMIT * rate_of(rounds["plain FastAPI"]) for rounds in found.values())
    return int(not ok or any(each.failed for rounds in found.values() for way in rounds.values() for each in way))


def measure(
    folder: Path, connections: list[int], rounds: int, seconds: int, console: Console
) -> dict[int, dict[str, list[Round]]]:
    """All servers, one after the other in every round, so that they see the same machine."""
    system = simulate(queries=2_000, depth=DEPTH, seed=0)
    certificate = calibrate(system)
    certificate.save(folder / "cert.json")
    kept = round(certificate.mean_kept)
    lists = system.retriever.reshape(-1, DEPTH)[:BODIES]
    json_bodies, packed_bodies = _write_bodies(folder, lists)
    ports = [free_port() for _ in range(3)]
    found: dict[int, dict[str, list[Round]]] = {}
    with ExitStack() as servers:
        for command, port in (
            (["surecut", "serve", str(folder / "cert.json"), "--port", str(ports[0])], ports[0]),
            (["benchmarks.service.reference", "plain", str(ports[1]), str(kept)], ports[1]),
            (["benchmarks.service.reference", "bare", str(ports[2]), str(kept)], ports[2]),
        ):
            servers.enter_context(running(command, port, str(folder / f"{port}.log")))
        prune = f"http://127.0.0.1:{ports[0]}/v1/certificates/cert/prune"
        ways = (
            Way("surecut", prune, "application/json", json_bodies),
            Way("plain FastAPI", f"http://127.0.0.1:{ports[1]}/prune", "application/json", json_bodies),
            Way("surecut, MessagePack", prune, "application/msgpack", packed_bodies),
            Way("reads and answers", f"http://127.0.0.1:{ports[2]}/", "application/json", json_bodies),
        )
        for count in connections:
            found[count] = {way.name: [] for way in ways}
            for number in range(rounds + 1):  # the first one warms up
                for way in ways:
                    measured = _load(way, count, seconds if number else 2)
                    if number:
                        found[count][way.name].append(measured)
                console.print(f"{count} connections, round {number} of {rounds}", style="dim")
    return found


def _write_bodies(folder: Path, lists: np.ndarray) -> tuple[Path, Path]:
    """Queries of 1,000 candidates, as JSON and as MessagePack."""
    plain, packed = folder / "json", folder / "msgpack"
    plain.mkdir()
    packed.mkdir()
    rng = np.random.default_rng(0)
    for number, scores in enumerate(lists, start=1):
        ids = [f"doc-{each}" for each in rng.choice(8_841_823, DEPTH, replace=False)]
        query = {"id": f"q{number}", "ids": ids, "scores": [float(each) for each in scores]}
        (plain / str(number)).write_text(json.dumps(query))
        (packed / str(number)).write_bytes(msgspec.msgpack.encode({**query, "scores": scores.tobytes()}))
    return plain, packed


def _load(way: Way, connections: int, seconds: int) -> Round:
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "10s", "-s", str(SCRIPT), way.url]
    done = subprocess.run(
        [*command, "--", str(way.folder), str(BODIES), way.media_type], capture_output=True, text=True, check=True
    )
    return Round(**json.loads(done.stdout.strip().splitlines()[-1]))


def rate_of(rounds: list[Round]) -> float:
    return statistics.median(each.rate for each in rounds)


def page(found: dict[int, dict[str, list[Round]]], rounds: int, seconds: int) -> str:
    """The page, in Markdown."""
    rows = []
    for connections, ways in found.items():
        beside = rate_of(ways["plain FastAPI"])
        for name, measured in ways.items():
            rows.append(
                [
                    f"{connections}",
                    name,
                    f"{rate_of(measured) / beside:.2f}",
                    f"{rate_of(measured):,.0f}",
                    f"{statistics.median(each.p50 for each in measured):.1f}",
                    f"{statistics.median(each.p99 for each in measured):.1f}",
                    f"{sum(each.requests for each in measured):,}",
                    f"{sum(each.failed for each in measured)}",
                ]
            )
    heads = [
        "connections",
        "server",
        "rate / plain FastAPI",
        "requests/s",
        "p50, ms",
        "p99, ms",
        "requests",
        "failed",
    ]
    versions = ", ".join(f"{name} {version(name)}" for name in ("fastapi", "uvicorn", "pydantic", "msgspec"))
    return (
        "# The service under load\n\n"
        "Written by `make bench-serve`. Every request holds one query of 1,000 candidates, ids and scores; every "
        "answer the survivors' ids. Server and load (wrk) share two cores; the servers take turns, and figures are "
        f"medians of {rounds} rounds of {seconds} s.\n\n"
        "*plain FastAPI* is an endpoint with the same model, which parses the same JSON and returns as many ids "
        "without deciding anything; *reads and answers* is what the server does at best: it reads the body and returns "
        "a constant. Rates in the same run compare; milliseconds and requests a second are those of one machine on one "
        f"day.\n\n{pipe_table(heads, rows)}\n\n{versions}.\n"
    )


if __name__ == "__main__":
    raise SystemExit(main())
