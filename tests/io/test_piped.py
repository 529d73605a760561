"""Reading standard input: whole, and never deaf to a signal."""

import io
import subprocess
import sys
from textwrap import dedent

import pytest

from surecut.io.piped import standard_input

ROUNDS = 1500

READ_AND_INTERRUPT = """
    import os, random, select, signal, sys
    from surecut.io.piped import standard_input

    rounds = int(sys.argv[1])
    (taken, given), (asked, ask) = os.pipe(), os.pipe()
    sys.stdin = os.fdopen(taken)
    reader = os.getpid()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where started in the background
    if os.fork() == 0:  # gives a piece at each request, and interrupts at some moment of its being read
        os.close(ask)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        moments = random.Random(0)
        while os.read(asked, 1):
            os.write(given, b"x" * 4096)
            for _ in range(moments.randrange(500)):
                pass
            os.kill(reader, signal.SIGINT)
            if not select.select([asked], [], [], 30)[0]:
                break  # it waits for more, having missed the signal; now it gets the end of the input
        os._exit(0)
    os.close(given)
    interrupted = 0
    for _ in range(rounds):
        try:
            os.write(ask, b".")
            with standard_input() as stream:
                stream.read()
            break
        except KeyboardInterrupt:
            interrupted += 1
    os.close(ask)
    print(interrupted)
"""


def run(code: str, *arguments: str, stdin: bytes = b"") -> str:
    command = [sys.executable, "-c", dedent(code), *arguments]
    return subprocess.run(command, input=stdin, stdout=subprocess.PIPE, check=True, timeout=120).stdout.decode()


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_a_signal_at_any_moment_ends_the_reading():
    assert int(run(READ_AND_INTERRUPT, str(ROUNDS))) == ROUNDS


def test_everything_is_read():
    sent = b"0123456789\n" * 500_000
    read = """
        import hashlib
        from surecut.io.piped import standard_input
        with standard_input() as stream:
            print(hashlib.md5(stream.read()).hexdigest())
    """
    direct = "import sys, hashlib; print(hashlib.md5(sys.stdin.buffer.read()).hexdigest())"
    assert run(read, stdin=sent) == run(direct, stdin=sent)


def test_input_that_is_no_file_of_the_system_is_read_too(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"q Q0 d 1 1.0 t\n")))
    with standard_input() as stream:
        assert stream.read() == b"q Q0 d 1 1.0 t\n"
