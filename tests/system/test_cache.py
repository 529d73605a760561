"""The cache: everything is built once, by one process at a time."""

import multiprocessing
import os
import time
from pathlib import Path

import pytest

from surecut import InputError
from surecut.system.cache import built, cache_folder, digest, locked


def test_the_cache_is_where_it_is_said_to_be(monkeypatch, tmp_path):
    assert cache_folder() == Path(os.environ["SURECUT_CACHE"])
    monkeypatch.delenv("SURECUT_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "surecut"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "surecut"


def test_the_digest_depends_on_every_fact_and_on_nothing_else():
    assert digest("a", 1, {"x": 1, "y": 2}) == digest("a", 1, {"y": 2, "x": 1})
    assert len({digest("a", 1), digest("a", "1"), digest("a", 1.5), digest(["a", 1]), digest(1, "a")}) == 5


def test_what_is_there_is_not_built_again():
    def build(folder):
        (folder / "count").write_text((folder / "count").read_text() + "x" if (folder / "count").exists() else "x")

    assert built("kind", "key", build) == built("kind", "key", build)
    assert (built("kind", "key", build) / "count").read_text() == "x"


def test_an_interrupted_build_hands_on_what_it_left():
    def interrupted(folder):
        (folder / "half").write_text("done")
        raise KeyboardInterrupt

    def going_on(folder):
        (folder / "rest").write_text((folder / "half").read_text())

    with pytest.raises(KeyboardInterrupt):
        built("kind", "key", interrupted)
    assert (built("kind", "key", going_on) / "rest").read_text() == "done"


def test_a_failed_write_is_an_input_error_and_is_tried_again():
    def full(folder):
        raise OSError(28, "No space left on device")

    with pytest.raises(InputError, match=r"key: cannot be written \(No space left on device\)"):
        built("kind", "key", full)
    assert (built("kind", "key", lambda folder: (folder / "made").write_text("")) / "made").exists()


def test_a_cache_that_cannot_be_made_says_what_to_set(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("SURECUT_CACHE", str(tmp_path / "file"))
    with pytest.raises(InputError, match=r"file/kind/key: cannot be made .*SURECUT_CACHE"):
        built("kind", "key", lambda folder: None)


def test_a_held_lock_is_refused_with_the_sentence_given(tmp_path):
    again = locked(tmp_path / "lock", busy="somebody is here")
    with locked(tmp_path / "lock"), pytest.raises(InputError, match="somebody is here"):
        again.__enter__()
    with locked(tmp_path / "lock", busy="nobody"):
        pass


def _build_slowly(_):
    def build(folder):
        time.sleep(0.3)
        with (folder / "builders").open("a") as file:
            file.write("x")

    return (built("kind", "key", build) / "builders").read_text()


def test_two_processes_build_once():
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(_build_slowly, range(2)) == ["x", "x"]
