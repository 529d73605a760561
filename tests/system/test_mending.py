"""What is damaged, half written or gone is made again, or named with what to do; nothing is certified on the rest."""

import shutil
from pathlib import Path

import pytest

from surecut import InputError, read_table
from surecut.errors import Unscorable
from surecut.system.recipe import read_recipe
from surecut.system.retrievers import Dense
from surecut.system.scoring import score
from tests.system.making import After, LastFirst, contents, in_small_blocks, stop

DENSE = 'kind = "dense"\nmodel = "{model}"\npooling = "mean"'


@pytest.mark.usefixtures("small_parts")
def test_a_part_that_is_gone_is_made_again(recipe, tmp_path):
    path = recipe()
    score(in_small_blocks(path), tmp_path / "t")
    whole = contents(tmp_path / "t")
    (tmp_path / "t" / "candidates" / "part-00001.parquet").unlink()
    with pytest.raises(InputError, match=r"parts in candidates/, and meta.json says \d+: if surecut score made"):
        read_table(tmp_path / "t")
    score(read_recipe(path), tmp_path / "t")
    assert contents(tmp_path / "t") == whole


@pytest.mark.usefixtures("small_parts")
def test_a_damaged_part_is_named_when_a_table_is_described_anew(recipe, tmp_path):
    score(in_small_blocks(recipe()), tmp_path / "t")
    (tmp_path / "t" / "candidates" / "part-00001.parquet").write_bytes(b"PAR1 no more")
    with pytest.raises(InputError, match=r"part-00001\.parquet: damaged; remove it, and the same command"):
        score(read_recipe(recipe(fusion="[fusion]\nbeta = 0.5")), tmp_path / "t")


def test_what_a_killed_run_left_half_written_goes_away(recipe, tmp_path):
    path = recipe()
    score(read_recipe(path), tmp_path / "t")
    whole = contents(tmp_path / "t")
    for left in (".meta.json.1.part", "candidates/.part-00000.parquet.1.part"):
        (tmp_path / "t" / left).write_bytes(b"half")
    others = {".mine.1.part": b"not surecut's", "deep/.meta.json.1.part": b"nor this"}
    (tmp_path / "t" / "deep").mkdir()
    for name, content in others.items():
        (tmp_path / "t" / name).write_bytes(content)
    score(read_recipe(path), tmp_path / "t")
    assert contents(tmp_path / "t") == {**whole, **others}


def test_a_damaged_block_is_scored_again(recipe, tmp_path):
    path = recipe()
    score(in_small_blocks(path), tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        score(in_small_blocks(path), tmp_path / "t", After(3, stop))
    next((tmp_path / "t" / "blocks").iterdir()).write_bytes(b"")
    with pytest.raises(InputError, match="was damaged and is removed; the same command scores it again"):
        score(in_small_blocks(path), tmp_path / "t")
    score(in_small_blocks(path), tmp_path / "t")
    assert contents(tmp_path / "t") == contents(tmp_path / "whole")


def halved(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.mark.parametrize("damage", [halved, Path.unlink], ids=["halved", "gone"])
@pytest.mark.parametrize(
    "file",
    [
        "documents/*/store.json",
        "documents/*/texts.bin",
        "documents/*/texts.npy",
        "documents/*/order.npy",
        "vectors/*/vectors.f32",
        "indexes/*/data.csc.index.npy",
        "indexes/*/hnsw.faiss",
    ],
)
def test_a_damaged_cache_is_named_and_built_again_when_it_is_removed(recipe, models, tmp_path, cache, file, damage):
    dense = DENSE.format(model=models.bi) + ('\nsearch_by = "hnsw"' if "hnsw" in file else "")
    path = recipe(retriever='kind = "bm25"' if "csc" in file else dense)
    score(read_recipe(path), tmp_path / "first")
    (found,) = cache.glob(file)
    damage(found)
    with pytest.raises(InputError, match=rf"{found.parent}: damaged \(.*\); remove this folder, and it is built again"):
        score(read_recipe(path), tmp_path / "second")
    shutil.rmtree(found.parent)
    score(read_recipe(path), tmp_path / "second")
    assert contents(tmp_path / "second") == contents(tmp_path / "first")


class Noting:
    """Hears of what is done."""

    def __init__(self):
        self.stages = []

    def stage(self, name, total=0, done=0):
        self.stages.append(name)

    def advance(self, *_):
        pass


@pytest.mark.parametrize("search_by", ["exact", "hnsw"])
def test_vectors_that_are_removed_are_made_again_by_the_runner_and_in_sight(
    recipe, models, tmp_path, cache, monkeypatch, search_by
):
    """Some documents could not be encoded: the index of the others' vectors is not one of all."""
    path = recipe(retriever=f'{DENSE.format(model=models.bi)}\nsearch_by = "{search_by}"')
    encode, bad = Dense.documents, []

    def some(self, texts):
        if len(bad) < 3:
            bad.append(1)
            raise Unscorable("gave nan")
        return encode(self, texts)

    with monkeypatch.context() as patch:
        patch.setattr(Dense, "documents", some)
        patch.setattr("surecut.system.blocks._SIZE", 1)
        assert [each.query_id for each in score(read_recipe(path), tmp_path / "first").failures] == [None]
    (vectors,) = cache.glob("vectors/*/vectors.f32")
    (index,) = cache.glob("indexes/*/failed.json")
    shutil.rmtree(vectors.parent)
    runner, watch = LastFirst(), Noting()
    with pytest.raises(InputError, match=rf"{index.parent}: damaged \(it was made of other vectors\); remove"):
        score(read_recipe(path), tmp_path / "second", watch, runner)
    assert "encoding documents" in watch.stages
    shutil.rmtree(index.parent)
    assert not score(read_recipe(path), tmp_path / "second").failures
