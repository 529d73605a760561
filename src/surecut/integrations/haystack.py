"""Haystack: a component that prunes, between a retriever and a ranker.

>>> pipeline.add_component("prune", Prune("cert.json"))  # doctest: +SKIP
>>> pipeline.connect("retriever.documents", "prune.documents")  # doctest: +SKIP
>>> pipeline.connect("prune.documents", "ranker.documents")  # doctest: +SKIP
"""

from collections.abc import Sequence
from functools import partial
from operator import attrgetter
from typing import Any

from surecut.extras import needed
from surecut.integrations.stage import Given, ListStage, as_record, name_in

needed("haystack", "haystack")

from haystack import Document, component, default_from_dict, default_to_dict  # noqa: E402


@component
class Prune:
    """Keeps the documents that the certificate says survive, untouched and in their order; `document.score` counts.

    `id_key` names the meta field that holds the ids of the calibration data; without it they are the documents' own.
    A certificate given as a path is serialised as that path, one given as such with all it says.
    """

    def __init__(
        self,
        certificate: Given,
        *,
        id_key: str | None = None,
        system: dict[str, str] | None = None,
        any_system: bool = False,
        any_length: bool = False,
    ) -> None:
        self.certificate, self.id_key = certificate, id_key
        self.system, self.any_system, self.any_length = system, any_system, any_length
        self.stage: ListStage[Document] = ListStage(
            certificate,
            attrgetter("score"),
            partial(_id_of, key=id_key),
            "here as document.score",
            system=system,
            any_system=any_system,
            any_length=any_length,
        )

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document], query: str | None = None) -> dict[str, list[Document]]:
        """The survivors; the query is not looked at, and may be given where rankers get it."""
        return {"documents": self.stage.keep(documents)}

    @component.output_types(documents=list[Document])
    async def run_async(self, documents: list[Document], query: str | None = None) -> dict[str, list[Document]]:
        """The same; it takes microseconds, so no thread is started for it."""
        return {"documents": self.stage.keep(documents)}

    def run_many(self, lists: Sequence[Sequence[Document]]) -> list[list[Document]]:
        """The survivors of several queries."""
        return [self.stage.keep(documents) for documents in lists]

    def to_dict(self) -> dict[str, Any]:
        """What a pipeline file holds."""
        return default_to_dict(
            self,
            certificate=as_record(self.certificate),
            id_key=self.id_key,
            system=self.system,
            any_system=self.any_system,
            any_length=self.any_length,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Prune":
        """The component again."""
        made: Prune = default_from_dict(cls, data)
        return made


def _id_of(document: Document, key: str | None) -> str:
    return document.id if key is None else name_in(document.meta, key)
