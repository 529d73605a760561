"""Runs as `{query: {document: score}}`, the shape of BEIR's results and of ranx."""

from collections.abc import Mapping

from surecut.errors import InputError
from surecut.integrations.stage import Given, Stage, of_query

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
        if not isinstance(run, Mapping):
            raise InputError(f"a run is a dict {{query: {{document: score}}}}, not a {type(run).__name__}")
        pruned = {}
        for query, listed in run.items():
            with of_query(query):
                pruned[query] = self._survivors(listed)
        return pruned

    def _survivors(self, listed: Mapping[str, float]) -> dict[str, float]:
        if not isinstance(listed, Mapping):
            raise InputError(f"its documents are a dict {{document: score}}, not a {type(listed).__name__}")
        documents, scores = list(listed), list(listed.values())
        pruned = self.stage.prune(scores, documents, "in the run", ordered=False)
        return {documents[place]: scores[place] for place in sorted(pruned.survivors)}
