"""The systems that are run for real, and which of their tables ship."""

from dataclasses import dataclass
from pathlib import Path

RECIPES = Path(__file__).parents[2] / "recipes"


@dataclass(frozen=True)
class System:
    """A recipe, and what of its table ships with the package."""

    recipe: str
    at_least: float  # a value of the measure that its queries can show
    measure: str = "RR@10"
    shipped_queries: int | None = None  # the first so many in the recipe's order; all of them if None
    timed_queries: int = 20

    @property
    def path(self) -> Path:
        return RECIPES / f"{self.recipe}.toml"

    @property
    def name(self) -> str:
        return self.recipe.replace("/", "-")


SYSTEMS = (
    System("quora-duplicates/bm25-minilm", 0.86, timed_queries=60),
    System("quora-duplicates/bm25-bge", 0.90, shipped_queries=3000, timed_queries=100),
    System("scifact/bm25-minilm", 0.60),
    System("scifact/bm25-bge", 0.65, timed_queries=100),
    System("nfcorpus/bm25-minilm", 0.28, measure="nDCG@10"),
    System("nfcorpus/bm25-bge", 0.28, measure="nDCG@10", timed_queries=100),
)
