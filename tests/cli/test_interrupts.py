"""Ctrl-C ends a command with status 130 and one line, SIGTERM with 143 and one, whatever it was at."""

import signal
import subprocess
import sys
import textwrap
import time

import pytest

from surecut.cli.interrupts import Interrupted, interrupt_cleanly

KERNEL = """
    import threading, numba, numpy as np

    def work():
        compiled()
        threading.Timer(0.2, signal.raise_signal, (signal.SIGINT,)).start()
        compiled(200_000_000)
        time.sleep(10)

    @numba.njit(nogil=True)
    def compiled(steps=1):
        made = np.zeros(3)
        for step in range(steps):
            made[step % 3] += made[(step + 1) % 3] + 1.0
        return made, made + 1.0
"""
MAKING_A_CLASS = """
    def work():
        exec("signal.raise_signal(signal.SIGINT)", globals())
        time.sleep(10)
"""


@pytest.fixture
def handler():
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("work", [KERNEL, MAKING_A_CLASS], ids=["in a kernel", "making a class"])
def test_status_is_130_whatever_is_interrupted(tmp_path, work):
    lines = ["import signal, time", "from surecut import cli", textwrap.dedent(work), "cli._run = work", "cli.main()"]
    (tmp_path / "interrupted.py").write_text("\n".join(lines))
    ended = subprocess.run([sys.executable, "-m", "interrupted"], cwd=tmp_path, capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (130, "surecut: interrupted\n")


TERMINATED = """
    import atexit
    atexit.register(print, "tidied up")

    def work():
        signal.raise_signal(signal.SIGTERM)
        time.sleep(10)
"""


def test_what_is_terminated_tidies_up_and_says_so(tmp_path):
    lines = ["import signal, time", "from surecut import cli", textwrap.dedent(TERMINATED), "cli._run = work"]
    (tmp_path / "terminated.py").write_text("\n".join([*lines, "cli.main()"]))
    ended = subprocess.run([sys.executable, "-m", "terminated"], cwd=tmp_path, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout, ended.stderr) == (143, "tidied up\n", "surecut: terminated\n")


def test_an_interrupt_waits_until_somebody_would_hear_of_it(handler):
    came_back = False

    def _numba_unpickle():
        nonlocal came_back
        signal.raise_signal(signal.SIGINT)
        time.sleep(0.05)
        came_back = True

    def wait():
        _numba_unpickle()
        time.sleep(10)

    interrupt_cleanly()
    with pytest.raises(Interrupted):
        wait()
    assert came_back


def test_a_process_that_ignores_interrupts_goes_on_ignoring_them(handler):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    interrupt_cleanly()
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
