"""Runs as `{query: {document: score}}`, the shape of BEIR's results and of ranx."""

from collections.abc import Mapping

from surecut.integrations.stage import Given, Stage

Run = Mapping[str, Mapping[str, float]]


class DictPrune:
    """Keeps the documents of each query that the certificate says survive, in their order."""

    def __init__(
        self,
        certificate: Given,
        *,
        system: Mapping[str, str] | None = None,
        any_system: bool = False,
        any_length: bool = False,
    ) -> None:
        self.stage = Stage(certificate, finishes=False, system=system, any_system=any_system, any_length=any_length)

    def __repr__(self) -> str:
        return f"Prune({self.stage.certificate.status})"

    def prune(self, run: Run) -> dict[str, dict[str, float]]:
        """The run with the survivors only; a query without documents stays."""
        return {query: self._survivors(query, listed) for query, listed in run.items()}

    def _survivors(self, query: str, listed: Mapping[str, float]) -> dict[str, float]:
        documents, scores = list(listed), list(listed.values())
        pruned = self.stage.prune(scores, documents, f"here of query '{query}'", ordered=False)
        return {documents[place]: scores[place] for place in sorted(pruned.survivors)}
