"""The system: its score table, a certificate from most of its queries, and the others with their texts."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import surecut as sc
from surecut.cli.watching import watching
from surecut.system.recipe import Recipe, read_recipe
from surecut.system.scoring import score

RECIPE = Path(__file__).with_name("system.toml")
DROP = 0.02


@dataclass(frozen=True)
class Asked:
    """A query with its candidates in retriever order."""

    query_id: str
    query: str
    ids: list[str]
    texts: list[str]
    scores: list[float]
    relevant: frozenset[str]


@dataclass(frozen=True)
class System:
    """The certificate, queries it has not seen, and where the cross-encoder lies."""

    certificate: sc.Certificate
    asked: Sequence[Asked]
    model: str


def prepare(scores: Path, held_out: int) -> System:
    """Score the queries (half an hour, kept in `scores`), calibrate on all but the held-out ones."""
    recipe = read_recipe(RECIPE)
    table = scores / "integrations"
    with watching() as watch:
        score(recipe, table, watch=watch)
    data = sc.read_table(table)
    known, others = data.split((1 - held_out / len(data), held_out / len(data)), seed=0)
    certificate = sc.calibrate(known, target=sc.max_drop(DROP))
    return System(certificate, _asked(recipe, others), recipe.reranker.model)  # type: ignore[attr-defined]


def _asked(recipe: Recipe, data: sc.Candidates) -> list[Asked]:
    documents = recipe.collection.documents
    texts = dict(zip(recipe.collection.queries.ids, recipe.collection.queries.texts, strict=True))
    place = {name: number for number, name in enumerate(documents.ids.series())}
    assert data.doc_ids is not None
    listed = []
    for number, query in enumerate(data.query_ids):
        rows = slice(data.offsets[number], data.offsets[number + 1])
        ids = data.doc_ids[rows].to_list()
        read = documents.texts.take(np.array([place[name] for name in ids]))
        good = frozenset(name for name, grade in zip(ids, data.grades[rows], strict=True) if grade > 0)
        listed.append(Asked(query, texts[query], ids, list(read), data.retriever[rows].tolist(), good))
    return listed
