"""LlamaIndex: a node postprocessor that prunes, before the one that reranks.

>>> index.as_query_engine(similarity_top_k=cert.depth, node_postprocessors=[Prune(cert), reranker])
... # doctest: +SKIP
"""

from collections.abc import Sequence
from functools import partial
from operator import attrgetter

from surecut.extras import needed
from surecut.integrations.stage import ListStage, name_in

needed("llama_index.core", "llama-index")

from llama_index.core.postprocessor.types import BaseNodePostprocessor  # noqa: E402
from llama_index.core.schema import NodeWithScore, QueryBundle  # noqa: E402

from surecut.integrations.fields import PruneFields  # noqa: E402


class Prune(PruneFields[NodeWithScore], BaseNodePostprocessor):
    """Keeps the nodes that the certificate says survive, untouched and in their order; `node.score` is their score.

    `id_key` names the metadata that holds the ids of the calibration data; without it they are the nodes' own.
    """

    def _make_stage(self) -> ListStage[NodeWithScore]:
        score, name = attrgetter("score"), partial(_id_of, key=self.id_key)
        return ListStage(self.certificate, score, name, "here as node.score", **self._options)

    @classmethod
    def class_name(cls) -> str:
        return "SurecutPrune"

    def postprocess_many(self, lists: Sequence[Sequence[NodeWithScore]]) -> list[list[NodeWithScore]]:
        """The survivors of several queries."""
        return [self.stage.keep(nodes) for nodes in lists]

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return self.stage.keep(nodes)

    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return self.stage.keep(nodes)  # microseconds: no thread is started for it


def _id_of(node: NodeWithScore, key: str | None) -> str:
    return node.node_id if key is None else name_in(node.metadata, key)
