"""Haystack: a component that prunes, between a retriever and a ranker.

>>> pipeline.add_component("prune", Prune("cert.json"))  # doctest: +SKIP
>>> pipeline.connect("retriever.documents", "prune.documents")  # doctest: +SKIP
>>> pipeline.connect("prune.documents", "ranker.documents")  # doctest: +SKIP
"""

import json
from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

from surecut.certificate import Certificate, parse_certificate
from surecut.extras import needed
from surecut.integrations.stage import ListStage

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
        certificate: Certificate | str | Path | dict[str, Any],
        *,
        id_key: str | None = None,
        system: dict[str, str] | None = None,
        any_system: bool = False,
        any_length: bool = False,
    ) -> None:
        if isinstance(certificate, dict):
            certificate = parse_certificate(json.dumps(certificate), "the serialised certificate")
        self.certificate, self.id_key = certificate, id_key
        self.system, self.any_system, self.any_length = system, any_system, any_length
        self._stage: ListStage[Document] = ListStage(
            certificate,
            attrgetter("score"),
            self._id_of,
            "here as document.score",
            system=system,
            any_system=any_system,
            any_length=any_length,
        )

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document], query: str | None = None) -> dict[str, list[Document]]:
        """The survivors; the query is not looked at, and may be given where rankers get it."""
        return {"documents": self._stage.keep(documents)}

    @component.output_types(documents=list[Document])
    async def run_async(self, documents: list[Document], query: str | None = None) -> dict[str, list[Document]]:
        """The same; it takes microseconds, so no thread is started for it."""
        return {"documents": self._stage.keep(documents)}

    def run_many(self, lists: Sequence[Sequence[Document]]) -> list[list[Document]]:
        """The survivors of several queries."""
        return [self._stage.keep(documents) for documents in lists]

    def to_dict(self) -> dict[str, Any]:
        """What a pipeline file holds."""
        given = self.certificate
        return default_to_dict(
            self,
            certificate=json.loads(given.to_json()) if isinstance(given, Certificate) else str(given),
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

    def _id_of(self, document: Document) -> str | None:
        name = document.id if self.id_key is None else document.meta.get(self.id_key)
        return None if name is None else str(name)
