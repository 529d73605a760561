"""The command line in a process of its own, with little memory and an end to its time."""

import os
import resource
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

import surecut

_SOURCE = str(Path(surecut.__file__).parents[1])

ADDRESSES = 6 << 30
"""Bytes that a command may ask for, touched or not."""

WRITTEN = 100 << 20
"""Bytes that a file it writes may have."""

PATIENCE = 240
"""Seconds after which a command hangs; on a quiet machine each takes one or two."""


@dataclass(frozen=True)
class Ended:
    """How a command ended, and the most memory it held."""

    status: int
    out: str
    err: str
    peak: int


def run_limited(arguments, folder: Path, feed=None, addresses=ADDRESSES) -> Ended:
    """Run a verb in a folder; `feed` is what is written to its standard input."""
    environment = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "GITHUB_ACTIONS")}
    with (folder / ".out").open("w+b") as out, (folder / ".err").open("w+b") as err:
        process = subprocess.Popen(
            [sys.executable, "-m", "surecut", *arguments],
            stdin=subprocess.DEVNULL if feed is None else feed,
            stdout=out,
            stderr=err,
            cwd=folder,
            env=environment | {"SURECUT_CACHE": str(folder / ".cache"), "PYTHONPATH": _SOURCE, "RUST_BACKTRACE": "1"},
            preexec_fn=lambda: _limit(addresses),
        )
        alarm = threading.Timer(PATIENCE, process.kill)
        alarm.start()
        _, status, used = os.wait4(process.pid, 0)
        alarm.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode(errors="replace"))
    return Ended(process.returncode, *texts, used.ru_maxrss * (1 if sys.platform == "darwin" else 1024))


def _limit(addresses: int) -> None:
    for what, most in ((resource.RLIMIT_AS, addresses), (resource.RLIMIT_FSIZE, WRITTEN)):
        resource.setrlimit(what, (most, most))
