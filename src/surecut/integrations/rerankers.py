"""rerankers: `Reranker.rank` that reranks the survivors only.

>>> prune = Prune("cert.json", Reranker("cross-encoder"))  # doctest: +SKIP
>>> prune.rank(query, docs, scores=scores, doc_ids=ids).top_k(10)  # doctest: +SKIP
"""

from collections.abc import Mapping, Sequence
from typing import Any

from surecut.errors import InputError
from surecut.extras import needed
from surecut.integrations.stage import Given, Pruned, Stage, ids_or_none, refuse_uneven

needed("rerankers", "rerankers")

from rerankers.documents import Document  # noqa: E402
from rerankers.results import RankedResults, Result  # noqa: E402
from rerankers.utils import prep_docs  # noqa: E402


class Prune:
    """A ranker of the rerankers library behind a certificate.

    A certificate is about rerankers that score each document by itself; one that looks at the whole list is refused.
    """

    def __init__(
        self,
        certificate: Given,
        ranker: Any,
        *,
        system: Mapping[str, str] | None = None,
        any_system: bool = False,
        any_length: bool = False,
    ) -> None:
        if not callable(getattr(ranker, "rank", None)):
            raise InputError(f"a ranker is expected, or anything with its rank, not {ranker!r}")
        self.ranker = ranker
        self.stage = Stage(certificate, finishes=True, system=system, any_system=any_system, any_length=any_length)

    def __repr__(self) -> str:
        return f"Prune({self.stage.certificate.status}, {self.ranker.__class__.__name__})"

    def rank(
        self,
        query: str,
        docs: Any,
        doc_ids: Sequence[str | int] | None = None,
        metadata: Sequence[dict[str, Any]] | None = None,
        *,
        scores: Sequence[float] | Any = None,
        **options: Any,
    ) -> RankedResults:
        """The final list as `Reranker.rank` gives it; `scores` are the retriever's, one a document in their order.

        Where the certificate appends pruned documents, they come last, with a rank and a score of None.
        """
        documents, pruned = self._prune(docs, doc_ids, metadata, scores)
        survivors = [documents[place] for place in pruned.survivors]
        ranked = self.ranker.rank(query, survivors, **options) if survivors else None
        return self._results(query, documents, pruned, ranked)

    async def rank_async(
        self,
        query: str,
        docs: Any,
        doc_ids: Sequence[str | int] | None = None,
        metadata: Sequence[dict[str, Any]] | None = None,
        *,
        scores: Sequence[float] | Any = None,
    ) -> RankedResults:
        """The same through the ranker's own `rank_async`."""
        documents, pruned = self._prune(docs, doc_ids, metadata, scores)
        survivors = [documents[place] for place in pruned.survivors]
        ranked = await self.ranker.rank_async(query, survivors) if survivors else None
        return self._results(query, documents, pruned, ranked)

    def rank_many(
        self,
        queries: Sequence[str],
        docs: Sequence[Any],
        doc_ids: Sequence[Sequence[str | int]] | None = None,
        *,
        scores: Sequence[Any],
        **options: Any,
    ) -> list[RankedResults]:
        """Several queries, each with its documents and scores, one after the other."""
        names = [None] * len(queries) if doc_ids is None else doc_ids
        refuse_uneven(queries, docs, scores, names)
        asked = zip(queries, docs, names, scores, strict=True)
        return [self.rank(query, listed, known, scores=given, **options) for query, listed, known, given in asked]

    def _prune(self, docs: Any, doc_ids: Any, metadata: Any, scores: Any) -> tuple[list[Document], Pruned]:
        if scores is None:
            raise InputError("rank needs the retriever's scores of the documents: rank(query, docs, scores=...)")
        given = [docs] if isinstance(docs, str | Document) else list(docs)
        for what, each in {"doc_ids": doc_ids, "metadata": metadata}.items():
            if each is not None and len(each) != len(given):
                raise InputError(f"{len(given)} documents and {len(each)} {what}: one each is expected")
        if len({isinstance(each, Document) for each in given}) > 1:
            raise InputError("documents are texts or Documents, not some of each")
        names = [getattr(each, "doc_id", None) for each in given] if doc_ids is None else list(doc_ids)
        documents = list(prep_docs(given, doc_ids, metadata)) if given else []
        return documents, self.stage.prune(scores, ids_or_none(names), documents=len(given))

    def _results(
        self, query: str, documents: list[Document], pruned: Pruned, ranked: RankedResults | None
    ) -> RankedResults:
        if ranked is not None and not ranked.has_scores:
            raise InputError(
                f"{self.ranker.__class__.__name__} gives ranks without scores, as rerankers do that look at the whole "
                "list: a certificate is about rerankers that score each document by itself"
            )
        scored = {id(each.document): each.score for each in ranked or ()}
        named = {each.document.doc_id: each.score for each in ranked or ()}  # a ranker may hand out copies
        named.pop(None, None)
        survivors = [documents[place] for place in pruned.survivors]
        second = [scored.get(id(each), named.get(each.doc_id)) for each in survivors]
        if None in second:
            raise InputError("the ranker did not return a score for every document it was given: let it return all")
        if ranked is not None and len(ranked.results) > len(survivors):
            raise InputError(f"the ranker returned {len(ranked.results)} results for {len(survivors)} documents")
        listed = self.stage.finish(pruned, [float(each) for each in second if each is not None])
        results = [
            Result(documents[each.place], score=each.score, rank=rank) for rank, each in enumerate(listed, start=1)
        ]
        return RankedResults(results=results, query=query, has_scores=True)
