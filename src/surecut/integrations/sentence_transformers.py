"""sentence-transformers: `CrossEncoder.rank` that reranks the survivors only.

>>> prune = Prune("cert.json", CrossEncoder("cross-encoder/ms-marco-MiniLM-L6-v2"))  # doctest: +SKIP
>>> prune.rank(query, documents, scores=scores, top_k=10)  # doctest: +SKIP
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from surecut.certificate import Certificate
from surecut.errors import InputError
from surecut.integrations.stage import Pruned, Stage


class Prune:
    """A cross-encoder behind a certificate.

    `model` is a `sentence_transformers.CrossEncoder`, or anything with its `predict`. `system` names the pipeline's
    own fingerprints by stage; where the certificate knows them too, they must agree.
    """

    def __init__(
        self,
        certificate: Certificate | str | Path,
        model: Any,
        *,
        system: Mapping[str, str] | None = None,
        any_system: bool = False,
        any_length: bool = False,
    ) -> None:
        self.model = model
        self.stage = Stage(certificate, finishes=True, system=system, any_system=any_system, any_length=any_length)

    def __repr__(self) -> str:
        return f"Prune({self.stage.certificate.status}, {self.model.__class__.__name__})"

    def rank(
        self,
        query: Any,
        documents: Sequence[Any],
        top_k: int | None = None,
        return_documents: bool = False,
        *,
        scores: Sequence[float] | Any = None,
        ids: Sequence[str] | None = None,
        **options: Any,
    ) -> list[dict[str, Any]]:
        """The final list as `CrossEncoder.rank` gives it: `corpus_id`, `score` and, if asked for, `text`.

        `scores` are the retriever's, one a document in the order of `documents`; `ids` break ties between them as
        in calibration. Other options go to `CrossEncoder.predict`. Where the certificate appends pruned documents,
        they come last with a score of None.
        """
        given: dict[str, Any] = {"scores": None if scores is None else [scores], "ids": None if ids is None else [ids]}
        return self.rank_many([query], [documents], top_k, return_documents, **given, **options)[0]

    def rank_many(
        self,
        queries: Sequence[Any],
        documents: Sequence[Sequence[Any]],
        top_k: int | None = None,
        return_documents: bool = False,
        *,
        scores: Sequence[Sequence[float]] | Any = None,
        ids: Sequence[Sequence[str]] | None = None,
        **options: Any,
    ) -> list[list[dict[str, Any]]]:
        """Several queries, each with its documents and scores; the survivors of all go through the model together."""
        if scores is None:
            raise InputError("rank needs the retriever's scores of the documents: rank(query, documents, scores=...)")
        if not len(queries) == len(documents) == len(scores):
            raise InputError(
                f"{len(queries)} queries, {len(documents)} lists of documents and {len(scores)} of scores: one each"
            )
        names = [None] * len(queries) if ids is None else ids
        pruned = [self._pruned(*each) for each in zip(documents, scores, names, strict=True)]
        pairs = [
            [query, listed[place]]
            for query, listed, each in zip(queries, documents, pruned, strict=True)
            for place in each.survivors
        ]
        second = np.asarray(self.model.predict(pairs, **options) if pairs else [], dtype=np.float64)
        if second.ndim != 1:
            raise InputError(f"the model gives {second.shape[-1]} scores a pair, and a ranking needs one")
        parts = np.split(second, np.cumsum([each.kept for each in pruned])[:-1])
        return [
            self._results(each, part, listed, return_documents)[:top_k]
            for each, part, listed in zip(pruned, parts, documents, strict=True)
        ]

    def _pruned(self, documents: Sequence[Any], scores: Any, ids: Sequence[str] | None) -> Pruned:
        if len(documents) != len(scores):
            raise InputError(f"{len(documents)} documents and {len(scores)} scores: one each is expected")
        return self.stage.prune(scores, ids)

    def _results(self, pruned: Pruned, second: Any, documents: Sequence[Any], with_text: bool) -> list[dict[str, Any]]:
        placed = self.stage.finish(pruned, second)
        results: list[dict[str, Any]] = [{"corpus_id": each.place, "score": each.score} for each in placed]
        return [{**each, "text": documents[each["corpus_id"]]} for each in results] if with_text else results
