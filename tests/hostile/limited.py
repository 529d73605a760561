"""The command line in a process of its own, with little memory and an end to its time."""

import json
import os
import subprocess
import sys
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


# A process begins with the memory high-water mark of the one that starts it, so a small one stands between.
_BETWEEN = """
import json, os, resource, subprocess, sys
addresses, written, seconds = map(int, sys.argv[1:4])
def limit():
    resource.setrlimit(resource.RLIMIT_AS, (addresses, addresses))
    resource.setrlimit(resource.RLIMIT_FSIZE, (written, written))
child = subprocess.Popen(sys.argv[5:], preexec_fn=limit)
import threading
alarm = threading.Timer(seconds, child.kill)
alarm.start()
_, status, used = os.wait4(child.pid, 0)
alarm.cancel()
child.returncode = os.waitstatus_to_exitcode(status)
peak = used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
with open(sys.argv[4], "w") as said:
    json.dump([child.returncode, peak], said)
"""


def run_limited(arguments, folder: Path, feed=None, addresses=ADDRESSES) -> Ended:
    """Run a verb in a folder; `feed` is what is written to its standard input."""
    environment = {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "GITHUB_ACTIONS")}
    limits = [str(addresses), str(WRITTEN), str(PATIENCE), str(folder / ".ended")]
    with (folder / ".out").open("w+b") as out, (folder / ".err").open("w+b") as err:
        subprocess.run(
            [sys.executable, "-S", "-c", _BETWEEN, *limits, sys.executable, "-m", "surecut", *arguments],
            stdin=subprocess.DEVNULL if feed is None else feed,
            stdout=out,
            stderr=err,
            cwd=folder,
            env=environment | {"SURECUT_CACHE": str(folder / ".cache"), "PYTHONPATH": _SOURCE, "RUST_BACKTRACE": "1"},
            check=True,
        )
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode(errors="replace"))
    status, peak = json.loads((folder / ".ended").read_text())
    return Ended(status, *texts, peak)
