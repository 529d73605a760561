"""sentence-transformers: `CrossEncoder.rank` that reranks the survivors only.

>>> prune = Prune("cert.json", CrossEncoder("cross-encoder/ms-marco-MiniLM-L6-v2"))  # doctest: +SKIP
>>> prune.rank(query, documents, scores=scores, top_k=10)  # doctest: +SKIP
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from surecut.arrays import Float64
from surecut.errors import InputError
from surecut.integrations.stage import Given, Pruned, Stage, refuse_uneven


class Prune:
    """A cross-encoder behind a certificate.

    `model` is a `sentence_transformers.CrossEncoder`, or anything with its `predict`. `system` names the pipeline's
    own fingerprints by stage; where the certificate knows them too, they must agree.
    """

    def __init__(
        self,
        certificate: Given,
        model: Any,
        *,
        system: Mapping[str, str] | None = None,
        any_system: bool = False,
        any_length: bool = False,
    ) -> None:
        if not callable(getattr(model, "predict", None)):
            raise InputError(f"a CrossEncoder is expected, or anything with its predict, not {model!r}")
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
        names = [None] * len(queries) if ids is None else ids
        refuse_uneven(queries, documents, scores, names)
        pruned = [
            self.stage.prune(given, known, documents=len(listed))
            for listed, given, known in zip(documents, scores, names, strict=True)
        ]
        pairs = [
            [query, listed[place]]
            for query, listed, each in zip(queries, documents, pruned, strict=True)
            for place in each.survivors
        ]
        second = self._predicted(pairs, options)
        ends = np.cumsum([each.kept for each in pruned])
        return [
            self._results(each, second[end - each.kept : end], listed, return_documents)[:top_k]
            for each, end, listed in zip(pruned, ends, documents, strict=True)
        ]

    def _predicted(self, pairs: list[list[Any]], options: dict[str, Any]) -> Float64:
        if not pairs:
            return np.empty(0)
        found = np.asarray(self.model.predict(pairs, **options))
        if found.size != len(pairs) or found.dtype.kind not in "fiu":
            raise InputError(f"the model gives {found.shape} scores for {len(pairs)} pairs: a ranking needs one each")
        return found.reshape(-1).astype(np.float64)

    def _results(self, pruned: Pruned, second: Any, documents: Sequence[Any], with_text: bool) -> list[dict[str, Any]]:
        placed = self.stage.finish(pruned, second)
        results: list[dict[str, Any]] = [{"corpus_id": each.place, "score": each.score} for each in placed]
        return [{**each, "text": documents[each["corpus_id"]]} for each in results] if with_text else results
