"""What is free is known, and what cannot fit is refused before it is read."""

import subprocess
import sys

import pytest

from surecut import InputError, memory
from surecut.memory import available, refuse_beyond_memory

LIMITED = """
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (1 << 31, 1 << 31))
    from surecut.memory import available
    print(available())
"""


def test_some_memory_is_free():
    free = available()
    assert free is None or free > 1 << 20


def test_what_fits_passes_and_what_does_not_is_named(monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 10**9)
    refuse_beyond_memory(10**9, "some.run")
    with pytest.raises(InputError, match=r"some\.run: takes at least 2\.0 GB of memory, and 1\.0 GB are free"):
        refuse_beyond_memory(2 * 10**9, "some.run")


def test_where_nobody_says_what_is_free_nothing_is_refused(monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: None)
    refuse_beyond_memory(10**18, "some.run")


@pytest.mark.skipif(sys.platform != "linux", reason="limits of a process are read from /proc")
def test_the_limit_of_the_process_counts():
    code = "\n".join(line.strip() for line in LIMITED.splitlines())
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True)
    assert 0 < int(done.stdout) < 1 << 31


def test_the_limit_of_a_container_counts(monkeypatch, tmp_path):
    for name, content in (("stat", "anon 5\ninactive_file 300\n"), ("current", "1000\n"), ("max", "1500\n")):
        (tmp_path / f"memory.{name}").write_text(content)
    monkeypatch.setattr(memory, "_GROUPS", tmp_path)
    assert available() == 800
    (tmp_path / "memory.max").write_text("max\n")
    assert available() != 800
