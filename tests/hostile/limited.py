"""The command line in a process of its own, with little memory and an end to its time."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import surecut

ADDRESSES = 6 << 30
"""Bytes that a command may ask for, touched or not."""

WRITTEN = 100 << 20
"""Bytes that a file it writes may have."""

PATIENCE = 240
"""Seconds after which a command hangs; on a quiet machine each takes one or two."""

# A process counts the memory of the one it was forked from as its own, so a small one stands between.
_LAUNCHER = """
import json, resource, subprocess, sys
addresses, written, patience = map(int, sys.argv[1:4])
resource.setrlimit(resource.RLIMIT_FSIZE, (written, written))
resource.setrlimit(resource.RLIMIT_AS, (addresses, addresses))
with open(".out", "wb") as out, open(".err", "wb") as err:
    status = subprocess.run([sys.executable, *sys.argv[4:]], stdout=out, stderr=err, timeout=patience).returncode
print(json.dumps([status, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024]))
"""


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
    environment["PYTHONPATH"] = str(Path(surecut.__file__).parents[1])
    environment["SURECUT_CACHE"] = str(folder / ".cache")
    limits = map(str, (addresses, WRITTEN, PATIENCE))
    done = subprocess.run(
        [sys.executable, "-c", _LAUNCHER, *limits, "-m", "surecut", *arguments],
        stdin=subprocess.DEVNULL if feed is None else feed,
        stdout=subprocess.PIPE,
        cwd=folder,
        env=environment,
        check=True,
    )
    status, peak = json.loads(done.stdout)
    out, err = ((folder / name).read_text(encoding="utf-8", errors="replace") for name in (".out", ".err"))
    return Ended(status, out, err, peak)
