"""python -m fuzz [TARGET ...] [--seconds N | --runs N]"""

import argparse
import subprocess
import sys
from pathlib import Path

from tests.hostile.readers import TARGETS

_KEPT = Path("build/fuzz")
_LIMITS = ("-max_len=65536", "-timeout=30", "-rss_limit_mb=2500", "-print_final_stats=1", "-verbosity=0")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description="Feeds every reader bytes bred by coverage.")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"which reader (all): {', '.join(TARGETS)}")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--seconds", type=int, default=60, metavar="N", help="how long each is fed (60)")
    length.add_argument("--runs", type=int, metavar="N", help="how often instead")
    options = parser.parse_args()
    unknown = [name for name in options.targets if name not in TARGETS]
    if unknown:
        parser.error(f"no target '{unknown[0]}': choose from {', '.join(TARGETS)}")
    end = f"-max_total_time={options.seconds}" if options.runs is None else f"-runs={options.runs}"
    found = [name for name in options.targets or TARGETS if not passes(name, end)]
    if found:
        print(f"findings: {', '.join(found)}; the inputs are in {_KEPT}")
    return int(bool(found))


def passes(name: str, end: str) -> bool:
    """Feed one reader in a process of its own, from good files and what earlier runs bred from them."""
    corpus = _KEPT / name / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for number, content in enumerate(TARGETS[name].seeds()):
        (corpus / f"seed-{number}").write_bytes(content)
    command = [sys.executable, "-m", "fuzz.one", name, end, *_LIMITS, f"-artifact_prefix={_KEPT / name}/", str(corpus)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    said = done.stdout.splitlines()
    runs = next((line.split()[-1] for line in said if line.startswith("stat::number_of_executed_units")), "?")
    print(f"{name}: {runs} runs, {'nothing found' if done.returncode == 0 else 'a finding'}", flush=True)
    if done.returncode:
        print("\n".join(said[-60:]), flush=True)
    return done.returncode == 0


if __name__ == "__main__":
    raise SystemExit(main())
