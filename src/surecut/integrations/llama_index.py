"""LlamaIndex: a node postprocessor that prunes, before the one that reranks.

>>> index.as_query_engine(similarity_top_k=cert.depth, node_postprocessors=[Prune(cert), reranker])
... # doctest: +SKIP
"""

from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

from surecut.certificate import Certificate
from surecut.extras import needed
from surecut.integrations.stage import ListStage

needed("llama_index.core", "llama-index")

from llama_index.core.bridge.pydantic import PrivateAttr  # noqa: E402
from llama_index.core.postprocessor.types import BaseNodePostprocessor  # noqa: E402
from llama_index.core.schema import NodeWithScore, QueryBundle  # noqa: E402


class Prune(BaseNodePostprocessor):
    """Keeps the nodes that the certificate says survive, untouched and in their order; `node.score` is their score.

    `id_key` names the metadata that holds the ids of the calibration data; without it they are the nodes' own.
    """

    certificate: Certificate | str | Path
    id_key: str | None = None
    system: dict[str, str] = {}  # noqa: RUF012  # pydantic copies it
    any_system: bool = False
    any_length: bool = False

    _stage: ListStage[NodeWithScore] = PrivateAttr()

    def __init__(self, certificate: Certificate | str | Path, **options: Any) -> None:
        fields: dict[str, Any] = {"certificate": certificate, **options}
        super().__init__(**fields)
        self._stage = ListStage(
            self.certificate,
            attrgetter("score"),
            self._id_of,
            "here as node.score",
            system=self.system,
            any_system=self.any_system,
            any_length=self.any_length,
        )

    @classmethod
    def class_name(cls) -> str:
        return "SurecutPrune"

    def postprocess_many(self, lists: Sequence[Sequence[NodeWithScore]]) -> list[list[NodeWithScore]]:
        """The survivors of several queries."""
        return [self._stage.keep(nodes) for nodes in lists]

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return self._stage.keep(nodes)

    async def _apostprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        return self._stage.keep(nodes)  # microseconds: no thread is started for it

    def _id_of(self, node: NodeWithScore) -> str | None:
        name = node.node_id if self.id_key is None else node.metadata.get(self.id_key)
        return None if name is None else str(name)
