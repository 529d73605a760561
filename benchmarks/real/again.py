"""Does a recipe make its shipped table again? Its first queries are scored anew and compared, score by score."""

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from benchmarks.real.systems import System
from surecut.io.shipped import PREFIX, find_table
from surecut.system.recipe import read_recipe
from surecut.system.scoring import score

QUERIES = 20


@dataclass(frozen=True)
class Again:
    """How the scores of some queries came out the second time."""

    name: str
    pairs: int
    identical: int  # both scores, to the last bit
    farthest: float  # largest difference of a reranker score


def compare(system: System) -> Again:
    """Score the first queries of a recipe and hold them against the shipped table."""
    recipe = read_recipe(system.path)
    shipped = pl.scan_parquet(find_table(PREFIX + system.name) / "candidates.parquet")
    with tempfile.TemporaryDirectory() as folder:
        score(replace(recipe, collection=replace(recipe.collection, sample=QUERIES)), folder)
        made = pl.scan_parquet(Path(folder) / "candidates" / "*.parquet")
        queries = made.select("query_id").unique()
        both = (
            shipped.join(queries, on="query_id", how="semi")
            .join(made, on=["query_id", "doc_id"], how="left", suffix="_again")
            .collect()
        )
    same = (both["retriever"] == both["retriever_again"]) & (both["reranker"] == both["reranker_again"])
    difference = (both["reranker"] - both["reranker_again"]).abs().max()
    return Again(recipe.name, both.height, int(same.sum()), float(difference))  # type: ignore[arg-type]
