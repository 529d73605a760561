"""A local reranker for lists that come with their texts."""

import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from surecut.arrays import Float64
from surecut.errors import InputError
from surecut.system.collection import Queries
from surecut.system.recipe import read_recipe
from surecut.system.rerankers.cross_encoder import CrossEncoder


class LocalReranker:
    """A cross-encoder of this machine, by a recipe that names it, or by its folder or name on the hub."""

    def __init__(self, place: str) -> None:
        model = read_recipe(place).reranker if Path(place).suffix == ".toml" else CrossEncoder(place)
        if not isinstance(model, CrossEncoder):
            raise InputError(f"{place}: the service reranks texts as they come, which takes a cross-encoder")
        self._model, self._turn = model, threading.Lock()
        self._model.load()

    @property
    def fingerprint(self) -> str:
        return self._model.fingerprint

    def rerank(self, query: str, ids: Sequence[str], texts: Sequence[str]) -> Float64:
        """A score for each text; one request at a time, because the model uses all cores for it."""
        if not texts:
            return np.empty(0)
        with self._turn:
            self._model.refuse_queries(Queries(["query"], [query]))
            return self._model.score_pairs([query] * len(texts), texts, lambda place: ids[place])
