"""Whatever stops a run of `score`, the same call goes on, and the finished table is the same bytes."""

import os
import resource
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import polars as pl
import pytest

from surecut import InputError, read_table
from surecut.system.recipe import read_recipe
from surecut.system.retrievers import ready
from surecut.system.scoring import score
from surecut.system.vectors import encode_documents
from tests.system.making import After, contents, in_small_blocks, stop

COMMAND = (sys.executable, "-m", "surecut", "score")


def kept(folder):
    """What an unfinished table holds: blocks, and parts of three."""
    return [*folder.glob("blocks/*.parquet"), *folder.glob("candidates/*.parquet")]


def scored_queries(files):
    return pl.concat([pl.read_parquet(file, columns=["query_id"]) for file in files])["query_id"].n_unique()


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("blocks", [1, 3, 14])
def test_an_interrupted_run_goes_on_to_the_same_bytes(recipe, tmp_path, blocks):
    path = recipe()
    score(in_small_blocks(path), tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        score(in_small_blocks(path), tmp_path / "stopped", After(blocks, stop))
    there = kept(tmp_path / "stopped")
    assert scored_queries(there) == min(6 * blocks, 80)
    before = {file: (file.stat().st_mtime_ns, file.read_bytes()) for file in there}

    def untouched():
        assert all((file.stat().st_mtime_ns, file.read_bytes()) == facts for file, facts in before.items())

    score(in_small_blocks(path), tmp_path / "stopped", After(1, untouched))
    assert contents(tmp_path / "stopped") == contents(tmp_path / "whole")


class Stopping:
    """Lets so many files be put in place or removed, and stops before the next."""

    def __init__(self, patch):
        self.left = self.done = 0
        patch.setattr(os, "replace", self._counted(os.replace))
        patch.setattr(Path, "unlink", self._counted(Path.unlink))

    def _counted(self, act):
        def acting(*given, **options):
            if self.done == self.left:
                raise KeyboardInterrupt
            self.done += 1
            return act(*given, **options)

        return acting


def steps_to_finish(recipe, folder, monkeypatch, left=10**9):
    """How many such steps a run takes; it is stopped after so many."""
    with monkeypatch.context() as patch:
        steps = Stopping(patch)
        steps.left = left
        with suppress(KeyboardInterrupt):
            score(recipe, folder)
    return steps.done


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize(
    "before_the_end",
    [1, 2, 3, 4, 14, 30, 45],
)
def test_a_run_stopped_at_any_step_goes_on_to_the_same_files(recipe, tmp_path, monkeypatch, before_the_end):
    path = recipe(depth=40)
    warm = read_recipe(path)
    ready(warm.retriever, warm.collection.documents)
    steps = steps_to_finish(in_small_blocks(path), tmp_path / "whole", monkeypatch)
    stopped = steps_to_finish(in_small_blocks(path), tmp_path / "stopped", monkeypatch, steps - before_the_end)
    assert stopped == steps - before_the_end
    score(in_small_blocks(path), tmp_path / "stopped")
    assert contents(tmp_path / "stopped") == contents(tmp_path / "whole")


@contextmanager
def limited_files(at_most=resource.RLIM_INFINITY):
    """Writes beyond so many bytes fail like a full disk; gives a function that changes the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (at_most, hard))
        yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.usefixtures("small_parts")
def test_a_full_disk_in_the_middle_keeps_what_is_there(recipe, tmp_path):
    path = recipe()
    score(in_small_blocks(path), tmp_path / "whole")
    said = r"block-0000005\.parquet: cannot be written \(File too large\)"
    with limited_files() as limit, pytest.raises(InputError, match=said):
        score(in_small_blocks(path), tmp_path / "full", After(5, lambda: limit(100)))
    assert scored_queries(kept(tmp_path / "full")) == 30
    score(in_small_blocks(path), tmp_path / "full")
    assert contents(tmp_path / "full") == contents(tmp_path / "whole")


@pytest.mark.parametrize(
    "retriever",
    [
        'kind = "bm25"',
        'kind = "dense"\nmodel = "{bi}"\npooling = "mean"',
        'kind = "dense"\nmodel = "{bi}"\npooling = "mean"\nsearch_by = "hnsw"',
        'kind = "splade"\nmodel = "{splade}"',
    ],
    ids=["bm25", "exact", "hnsw", "splade"],
)
def test_a_full_disk_while_indexing_is_one_sentence_and_can_be_mended(recipe, models, collection, tmp_path, retriever):
    path = recipe(retriever=retriever.format(**vars(models)), depth=10)
    if "hnsw" in retriever:
        encode_documents(read_recipe(path).retriever, collection.documents)
    _ = collection.documents
    with limited_files(3000), pytest.raises(InputError, match="cannot be written"):
        score(read_recipe(path), tmp_path / "t")
    score(read_recipe(path), tmp_path / "t")
    assert len(read_table(tmp_path / "t")) == 80


def test_a_killed_process_loses_at_most_a_block_and_the_table_is_the_same(recipe, models, beir, tmp_path):
    path = recipe(
        collection=f'beir = "{beir}"\nsample = 30',
        depth=1000,
        reranker=f'kind = "cross-encoder"\nmodel = "{models.slow}"',
    )
    folder = tmp_path / "killed"
    process = subprocess.Popen([*COMMAND, path, "-o", folder], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        limit = time.monotonic() + 60
        while len(list(folder.glob("blocks/block-*"))) < 3:
            assert process.poll() is None
            assert time.monotonic() < limit
            time.sleep(0.005)
    finally:
        process.kill()
        process.wait()
    with pytest.raises(InputError, match="not finished"):
        read_table(folder)
    there = list(folder.glob("blocks/block-*"))
    assert 3 <= len(there) < 15
    first = there[0].stat().st_mtime_ns

    def kept():
        assert there[0].stat().st_mtime_ns == first

    score(read_recipe(path), folder, After(1, kept))
    score(read_recipe(path), tmp_path / "whole")
    assert contents(folder) == contents(tmp_path / "whole")
