"""The score tables that ship: real systems, compact, without text, and each says how it was made."""

import tomllib
from pathlib import Path

import polars as pl
import pytest

import surecut as sc
from surecut import InputError
from surecut.io.shipped import find_table, shipped_tables
from surecut.io.table import read_meta

RECIPES = Path(__file__).parents[2] / "recipes"
MOST_BYTES = 8_000_000

named = pytest.mark.parametrize("name", shipped_tables())


def test_together_they_are_small():
    files = [path for name in shipped_tables() for path in find_table(f"example:{name}").iterdir()]
    assert 0 < sum(path.stat().st_size for path in files) <= MOST_BYTES


@named
def test_a_table_holds_ids_scores_and_grades_only(name):
    folder = find_table(f"example:{name}")
    assert sorted(path.name for path in folder.iterdir()) == ["candidates.parquet", "meta.json", "qrels.parquet"]
    columns = pl.read_parquet_schema(folder / "candidates.parquet")
    assert columns == {
        "query_id": pl.String,
        "doc_id": pl.String,
        "retriever": pl.Float32,
        "reranker": pl.Float64,
    }
    assert list(pl.read_parquet_schema(folder / "qrels.parquet")) == ["query_id", "doc_id", "relevance"]


@named
def test_a_table_says_how_it_was_made(name):
    meta = read_meta(f"example:{name}")
    collection, _, system = name.rpartition("-bm25-")
    recipe = RECIPES / collection / f"bm25-{system}.toml"
    assert meta["recipe"] == tomllib.loads(recipe.read_text())
    assert set(meta["fingerprints"]) == {"retriever", "reranker", "documents"}


@named
def test_a_table_is_a_two_stage_system_worth_reranking(name):
    meta, data = read_meta(f"example:{name}"), sc.read_table(f"example:{name}")
    assert len(data) == meta["queries"]
    assert data.lengths.max() == meta["depth"] == 100
    assert data.judged.all()
    quality = meta["whole_table"]["quality"]
    assert quality["retriever"] < quality["fused"]


@named
def test_a_table_can_be_calibrated_on(name):
    data = sc.read_table(f"example:{name}")
    certificate = sc.calibrate(data, target=sc.max_drop(0.1))
    assert certificate.certified
    assert certificate.mean_kept < 50
    assert certificate.system == {part: read_meta(f"example:{name}")["fingerprints"][part] for part in data.system}


def test_an_unknown_example_is_refused_with_the_nearest_name():
    with pytest.raises(InputError, match=r"unknown example 'scifact-bm25-bg': did you mean 'scifact-bm25-bge'\?"):
        sc.read_table("example:scifact-bm25-bg")
