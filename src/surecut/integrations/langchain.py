"""LangChain: a document compressor that prunes, and a retriever that prunes what another one finds.

>>> pruned = PrunedRetriever(prune=Prune("cert.json"), source=vector_store)  # doctest: +SKIP
>>> ContextualCompressionRetriever(base_retriever=pruned, base_compressor=reranker)  # doctest: +SKIP
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from surecut.errors import InputError
from surecut.extras import needed
from surecut.integrations.stage import ListStage, name_in

needed("langchain_core", "langchain")

from langchain_core.callbacks import (  # noqa: E402
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
    Callbacks,
)
from langchain_core.documents import BaseDocumentCompressor, Document  # noqa: E402
from langchain_core.retrievers import BaseRetriever  # noqa: E402
from langchain_core.vectorstores import VectorStore  # noqa: E402
from pydantic import ConfigDict, Field  # noqa: E402

from surecut.integrations.fields import PruneFields  # noqa: E402


class Prune(PruneFields[Document], BaseDocumentCompressor):
    """Keeps the documents that the certificate says survive, untouched and in their order.

    The retriever's score of a document is `metadata[score_key]`; with `distance` it is one that is lower for better
    documents, as many vector stores give it, and counts with a minus sign. `id_key` names the metadata that holds the
    ids of the calibration data; without it they are the documents' own.
    """

    score_key: str = Field(default="score", frozen=True)
    distance: bool = Field(default=False, frozen=True)

    def _make_stage(self) -> ListStage[Document]:
        return ListStage(
            self.certificate,
            partial(_score_of, key=self.score_key, distance=self.distance),
            partial(_id_of, key=self.id_key),
            f"here in metadata[{self.score_key!r}] (score_key= names another place)",
            **self._options,
        )

    @property
    def depth(self) -> int:
        """How many candidates the retriever is to find."""
        return self.stage.certificate.depth

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """The survivors."""
        return self.stage.keep(documents)

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """The same; it takes microseconds, so no thread is started for it."""
        return self.stage.keep(documents)

    def compress_many(self, lists: Sequence[Sequence[Document]]) -> list[list[Document]]:
        """The survivors of several queries."""
        return [self.stage.keep(documents) for documents in lists]


def _score_of(document: Document, key: str, distance: bool) -> Any:
    if not isinstance(document, Document):
        raise InputError(
            f"a list of Documents is expected, and it holds a {type(document).__name__}: put a score that comes beside "
            f"its document into metadata[{key!r}], or let PrunedRetriever ask the vector store"
        )
    score = document.metadata.get(key)
    try:
        return -float(score) if distance else score  # type: ignore[arg-type]  # None is a score that is missing
    except (TypeError, ValueError):
        return score


def _id_of(document: Document, key: str | None) -> str | None:
    return document.id if key is None else name_in(document.metadata, key)


class PrunedRetriever(BaseRetriever):
    """The survivors of what a retriever or a vector store finds.

    A vector store is asked for as many documents as the certificate is about, with their scores, which go into the
    metadata under `prune.score_key`; a retriever must have put them there itself.
    """

    prune: Prune
    source: BaseRetriever | VectorStore
    search_kwargs: dict[str, Any] = Field(default={})

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        if isinstance(self.source, BaseRetriever):
            found = self.source.invoke(query, config={"callbacks": run_manager.get_child()})
        else:
            found = self._scored(self.source.similarity_search_with_score(query, **self._asked))
        return self.prune.compress_documents(found, query)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        if isinstance(self.source, BaseRetriever):
            found = await self.source.ainvoke(query, config={"callbacks": run_manager.get_child()})
        else:
            found = self._scored(await self.source.asimilarity_search_with_score(query, **self._asked))
        return await self.prune.acompress_documents(found, query)

    @property
    def _asked(self) -> dict[str, Any]:
        asked = {"k": self.prune.depth, **self.search_kwargs}
        if asked["k"] != self.prune.depth:
            raise InputError(
                f"search_kwargs asks for {asked['k']} documents, and the certificate is about lists of "
                f"{self.prune.depth}: leave k out"
            )
        return asked

    def _scored(self, found: list[tuple[Document, float]]) -> list[Document]:
        """Copies that carry their scores: a store may hand out its own documents."""
        return [
            document.model_copy(update={"metadata": {**document.metadata, self.prune.score_key: float(score)}})
            for document, score in found
        ]
