"""Files that are there whole or not at all, and things that are no files."""

import os
import subprocess
import sys
import threading

import pytest

from surecut import InputError
from surecut.files import write_atomically


def test_a_file_is_replaced_and_nothing_else_is_left(tmp_path):
    write_atomically(tmp_path / "file", "one")
    write_atomically(tmp_path / "file", b"two")
    assert (tmp_path / "file").read_text() == "two"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_link_is_followed(tmp_path):
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to("target")
    write_atomically(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"


def test_a_pipe_is_written_to(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=write_atomically, args=(tmp_path / "pipe", "through"))
    writer.start()
    assert (tmp_path / "pipe").read_text() == "through"
    writer.join(timeout=10)
    assert (tmp_path / "pipe").is_fifo()


def test_standard_output_may_be_a_pipe():
    code = "from surecut.files import write_atomically; write_atomically('/dev/stdout', 'through')"
    ended = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True, timeout=60)
    assert ended.stdout == b"through"


@pytest.mark.parametrize("name", ["nowhere/file", "x" * 300, "."])
def test_what_cannot_be_written_is_named(tmp_path, name):
    with pytest.raises(InputError, match="cannot be written"):
        write_atomically(tmp_path / name, "text")
