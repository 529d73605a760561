"""What the service does, apart from HTTP: certificates, their monitors, and a reranker if there is one."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from surecut.arrays import Float32
from surecut.certificate import refuse_other_system
from surecut.errors import InputError
from surecut.integrations.stage import Pruned
from surecut.monitoring.feedback import Feedback
from surecut.monitoring.monitor import Monitor, refuse_unwatchable
from surecut.monitoring.standing import Standing
from surecut.monitoring.store import Store, StoreUnavailable
from surecut.ordering import as_float32
from surecut.serve.beside import Beside
from surecut.serve.limits import Keys, Limits, Rate
from surecut.serve.messages import Counted, Placed, Query, RankedList, RankQuery, Survivors
from surecut.serve.metrics import Metrics
from surecut.serve.ranking import LocalReranker
from surecut.serve.refusing import Refusal
from surecut.serve.sampling import Sampler
from surecut.serve.shelf import Served, Shelf
from surecut.serve.watching import Watcher


@dataclass
class Service:
    """Everything that one process serves."""

    shelf: Shelf
    limits: Limits = field(default_factory=Limits)
    keys: Keys = field(default_factory=Keys)
    store: Store | None = None
    reranker: LocalReranker | None = None
    fall_back: bool = False  # prune nothing while a certificate is not believed
    observed: float = 0.0  # share of the pruned queries whose scores the monitor sees
    any_system: bool = False
    hosts: frozenset[str] | None = None  # names it answers to; None: any

    def __post_init__(self) -> None:
        self.rate, self.metrics = Rate(self.limits.rate), Metrics()
        self.stopping = False
        self.pruning, self.ranking = Beside("pruning", 2), Beside("the reranker", 1, waiting=50)
        self.counting, self.reading = Beside("the monitor", 2), Beside("the monitor", 4)
        self.tending = Beside("tending", 1)
        self.watcher = Watcher(self.store, self.fall_back, self.shelf.any_length)
        self.sampler = Sampler(0.0 if self.store is None else self.observed)
        for served in self.shelf:
            standing = self.refresh(served)
            if self.fall_back and standing is None and served.certificate.status != "abstained":
                refuse_unwatchable(served.certificate)  # it would never prune

    def served(self, name: str) -> Served:
        if name not in self.shelf:
            known = ", ".join(each.name for each in self.shelf)
            raise Refusal(404, "unknown", f"no certificate '{name}' is served here; there are: {known}")
        return self.shelf[name]

    def prune(self, served: Served, query: Query) -> Survivors:
        """Which candidates of one query to rerank."""
        falls_back = self.watcher.falls_back(served)
        pruned = self._pruned(served, self._scores(query), query.ids, query.id, falls_back)
        survivors: Any = pruned.survivors
        if query.ids is not None:
            survivors = [query.ids[place] for place in survivors]
        return Survivors(survivors, pruned.kept, pruned.order.size, served.digest, falls_back)

    def rank(self, served: Served, query: RankQuery) -> RankedList:
        """Prune, rerank the survivors, and make the final list as certified."""
        if self.reranker is None:
            raise Refusal(409, "no reranker", "there is no reranker here: start the service with --reranker MODEL")
        falls_back = self.watcher.falls_back(served)
        refuse_other_system(served.certificate, {"reranker": self.reranker.fingerprint}, self.any_system)
        given, ids = query.documents, [each.id for each in query.documents]
        scores = self._scores(Query([each.score for each in given]))
        pruned = self._pruned(served, scores, ids, query.id, falls_back)
        survivors = [given[place] for place in pruned.survivors]
        reranked = self.reranker.rerank(query.query, [each.id for each in survivors], [each.text for each in survivors])
        listed = [
            Placed(ids[each.place], float(scores[each.place]), each.reranker, each.score)
            for each in served.stage.finish(pruned, reranked)
        ]
        return RankedList(listed, pruned.kept, pruned.order.size, served.digest, falls_back)

    def monitor(self, served: Served) -> Monitor:
        return self.watcher.monitor(served)

    def refresh(self, served: Served) -> Standing | None:
        """See how a certificate stands now."""
        try:
            return self.watcher.refresh(served)
        finally:
            self.metrics.believe(served.name, self.watcher.standing(served))

    def feedback(self, served: Served, records: Sequence[Feedback]) -> Counted:
        """Count feedback, all of it or none; when this returns, it is on disk."""
        if len(records) > self.limits.queries:
            raise Refusal(413, "too large", f"{len(records):,} records: at most {self.limits.queries:,} a request")
        added = self.monitor(served).add_at_once(records)
        self.refresh(served)
        return Counted(**asdict(added))

    def count_sampled(self) -> None:
        """Count the profiles that were sampled since the last time; those of a certificate that is gone are dropped."""
        served, waiting = {each.digest: each for each in self.shelf}, self.sampler.take()
        try:
            for digest in list(waiting):
                if digest in served:
                    with suppress(Refusal):  # what cannot be watched need not be
                        self.monitor(served[digest]).add_profiles(waiting[digest])
                del waiting[digest]
        except StoreUnavailable:
            self.sampler.put_back(waiting)
            raise

    def _scores(self, query: Query) -> Float32:
        given = query.scores
        candidates = len(given) // (4 if isinstance(given, bytes) else 1)
        if candidates > self.limits.candidates:
            raise Refusal(413, "too large", f"{candidates:,} candidates: at most {self.limits.candidates:,} a query")
        if not isinstance(given, bytes):
            return as_float32(np.array(given))
        if len(given) % 4:
            raise InputError(f"scores are {len(given)} bytes, which are no 32-bit floats: 4 bytes each")
        return np.frombuffer(given, dtype="<f4")

    def _pruned(
        self, served: Served, scores: Float32, ids: Sequence[str] | None, query: str | None, falls_back: bool
    ) -> Pruned:
        pruned = _everything(served, scores, ids) if falls_back else served.stage.prune(scores, ids)
        self.metrics.kept.labels(served.name).observe(pruned.kept)
        self.metrics.candidates.labels(served.name).inc(pruned.order.size)
        if falls_back:
            self.metrics.fallbacks.labels(served.name).inc()
        if not self.sampler.see(served.digest, query, pruned.scores):
            self.metrics.unobserved.inc()
        return pruned


def _everything(served: Served, scores: Float32, ids: Sequence[str] | None) -> Pruned:
    order, kept = served.everything.ranked(scores, ids, any_length=True, any_system=True)
    return Pruned(order, kept, scores[order])
