"""The pruned pipeline: retrieve, prune by the certificate, rerank the survivors only, fuse, return the list."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from surecut.arrays import Float32, Float64
from surecut.certificate import Certificate, load_certificate, refuse_other_system, same_retriever
from surecut.errors import InputError
from surecut.finishing import final_list, fused, unknown_last
from surecut.rules import KEEP_EVERYTHING
from surecut.system.collection import Queries
from surecut.system.recipe import Recipe, read_recipe
from surecut.system.retrievers import ready
from surecut.system.runs import RunFile
from surecut.system.topk import Hits
from surecut.watching import SILENT, Watch


@dataclass(frozen=True)
class Ranked:
    """One document of a final list; `reranker` is None for one that was pruned and follows in retriever order."""

    doc_id: str
    retriever: float
    reranker: float | None
    score: float | None
    text: str


@dataclass(frozen=True)
class Ranking:
    """A final list, and how it came about: `kept` of `candidates` were reranked, `why` so many, `seconds` by stage."""

    documents: Sequence[Ranked]
    candidates: int
    kept: int
    why: str
    seconds: dict[str, float]


class Ranker:
    """A two-stage system with a certificate in the middle.

    A certificate of another retriever or reranker is refused unless `any_system` allows it. `notes` is what a user
    should know before believing the results.

    >>> ranker = Ranker("cert.json", "recipe.toml")  # doctest: +SKIP
    >>> ranker.rank("what is a cross-encoder?").documents[0].doc_id  # doctest: +SKIP
    """

    def __init__(
        self,
        certificate: Certificate | str | Path,
        recipe: Recipe | str | Path,
        *,
        any_system: bool = False,
        watch: Watch = SILENT,
    ) -> None:
        self.certificate = certificate if isinstance(certificate, Certificate) else load_certificate(certificate)
        self.recipe = recipe if isinstance(recipe, Recipe) else read_recipe(recipe)
        stages = {"retriever": self.recipe.retriever.fingerprint, "reranker": self.recipe.reranker.fingerprint}
        refuse_other_system(self.certificate, stages, any_system)
        self._proven = any_system or same_retriever(self.certificate, stages)
        if self.recipe.depth < self.certificate.depth:
            raise InputError(
                f"{self.recipe.path}: retrieves {self.recipe.depth} candidates, the certificate is about lists of "
                f"{self.certificate.depth}: set depth = {self.certificate.depth}"
            )
        watch.stage("reading the documents")
        self.documents = self.recipe.collection.documents
        self.notes = self._notes()
        ready(self.recipe.retriever, self.documents, watch)
        self.recipe.reranker.prepare(self.documents, watch)
        self.recipe.reranker.load(self.documents)
        warm = -np.arange(self.certificate.depth, dtype=np.float32)
        self.certificate.keep(warm, any_system=True)  # loads the compiled code

    def __repr__(self) -> str:
        return f"Ranker({self.recipe.name!r}, {self.certificate.status}, depth {self.certificate.depth})"

    def _notes(self) -> list[str]:
        """What a user should know before believing the results."""
        system = self.certificate.system
        if not {"retriever", "reranker"} <= system.keys():
            return [
                "the certificate does not say which retriever and reranker it is about: are they those of the recipe?"
            ]
        if system.get("documents") not in (None, self.documents.fingerprint):
            return ["the documents are not those the certificate was calibrated on: its claim is about those"]
        return []

    def rank(self, query: str, k: int | None = None) -> Ranking:
        """The final list for a query, its best k documents if asked."""
        if not isinstance(query, str) or not query.strip():
            raise InputError(f"the query has no text: {query!r}")
        if not _is_utf8(query):
            raise InputError(f"the query is not UTF-8: {query!r}")
        if k is not None and (not isinstance(k, int) or k < 1):
            raise InputError(f"k = {k!r}: a whole number of at least 1 is expected")
        if isinstance(self.recipe.retriever, RunFile) or isinstance(self.recipe.reranker, RunFile):
            raise InputError(f"{self.recipe.path}: a run file knows no new query; rank needs stages that can compute")
        queries = Queries(["query"], [query])
        times = [time.perf_counter()]
        hits = self.retrieve(queries)[0]
        times.append(time.perf_counter())
        kept = self.prune(hits)
        times.append(time.perf_counter())
        survivors = Hits(hits.documents[:kept], hits.scores[:kept])
        reranked = unknown_last(self.recipe.reranker.rerank(queries, [survivors], self.documents)[0])
        times.append(time.perf_counter())
        seconds = dict(zip(("retrieve", "prune", "rerank"), np.diff(times).tolist(), strict=True))
        return Ranking(self._listed(hits, reranked, k), hits.documents.size, kept, self.reason(hits, kept), seconds)

    def retrieve(self, queries: Queries) -> list[Hits]:
        """The candidates of each query, as many as the certificate is about."""
        return self.recipe.retriever.search(queries, self.certificate.depth)

    def prune(self, hits: Hits) -> int:
        """How many to keep; all of a list the certificate knows nothing of."""
        pruner = self.certificate.pruner
        if pruner.too_short(hits.scores.size):
            return hits.scores.size
        return int(pruner.keep(hits.scores, any_system=self._proven))

    def final_scores(self, retriever: Float32, reranker: Float64) -> Float64:
        """The scores that order the final list, with the certificate's weight."""
        return fused(retriever, reranker, float(self.certificate.fusion["beta"]))

    def _listed(self, hits: Hits, reranked: Float64, k: int | None) -> list[Ranked]:
        return [
            Ranked(
                self.documents.ids[int(hits.documents[each.place])],
                float(hits.scores[each.place]),
                each.reranker,
                each.score,
                self.documents.texts[int(hits.documents[each.place])],
            )
            for each in final_list(self.certificate, hits.scores, reranked)[:k]
        ]

    def reason(self, hits: Hits, kept: int) -> str:
        """Why so many are kept."""
        pruner, scores = self.certificate.pruner, hits.scores
        if pruner.too_short(scores.size):
            return (
                f"the list has {scores.size} candidates and the shortest one in calibration {pruner.shortest}: "
                "nothing is pruned from a list the certificate knows nothing of"
            )
        if not scores.size:
            return "nothing was retrieved"
        if pruner.threshold == KEEP_EVERYTHING and kept == scores.size:
            return f"the certificate ({self.certificate.status}) prunes nothing"
        keys = pruner.keys(scores)
        reaching = int((keys >= pruner.threshold).sum())
        if reaching < kept:
            return f"only {reaching} reach the threshold, {pruner.threshold:.4g}, and at least {kept} are always kept"
        if reaching > kept:
            return f"{reaching} reach the threshold, {pruner.threshold:.4g}, and at most {kept} are ever kept"
        if kept == scores.size:
            return f"every candidate reaches the threshold, {pruner.threshold:.4g}"
        return (
            f"the key of candidate {kept} is {keys[kept - 1]:.4g}, that of candidate {kept + 1} is {keys[kept]:.4g}, "
            f"and the threshold is {pruner.threshold:.4g}"
        )


def _is_utf8(text: str) -> bool:
    """No half of a surrogate pair, which is what a wrong byte on the command line becomes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
