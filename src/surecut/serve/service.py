"""What the service does, apart from HTTP: certificates, their monitors, and a reranker if there is one."""

import random
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from surecut.arrays import Float32
from surecut.certificate import refuse_other_system
from surecut.errors import InputError
from surecut.integrations.stage import Pruned
from surecut.monitoring.feedback import Feedback
from surecut.monitoring.monitor import Monitor
from surecut.monitoring.standing import Standing
from surecut.monitoring.store import Store
from surecut.monitoring.streams import STREAMS
from surecut.ordering import as_float32
from surecut.serve.limits import Keys, Limits, Rate
from surecut.serve.messages import Counted, Placed, Query, RankedList, RankQuery, Survivors
from surecut.serve.metrics import Metrics
from surecut.serve.ranking import LocalReranker
from surecut.serve.shelf import Served, Shelf

_WAITING = 10_000  # sampled queries that wait to be counted; more are dropped, and that is counted


class Refusal(Exception):
    """A request that is not answered: the status, a word for the metrics, and a sentence for whoever sent it."""

    def __init__(self, status: int, reason: str, sentence: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(sentence)
        self.status, self.reason, self.headers = status, reason, headers or {}


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

    def __post_init__(self) -> None:
        self.rate, self.metrics = Rate(self.limits.rate), Metrics()
        self.stopping = False
        self._monitors: dict[str, Monitor] = {}
        self._standings: dict[str, Standing] = {}
        self._seen: deque[tuple[str, Feedback]] = deque()
        for served in self.shelf:
            self.watch(served)

    def served(self, name: str) -> Served:
        if name not in self.shelf:
            known = ", ".join(each.name for each in self.shelf)
            raise Refusal(404, "unknown", f"no certificate '{name}' is served here; there are: {known}")
        return self.shelf[name]

    def prune(self, name: str, query: Query) -> Survivors:
        """Which candidates of one query to rerank."""
        falls_back = self.falls_back(name)
        pruned = self._pruned(name, self._scores(query), query.ids, query.id, falls_back)
        survivors: Any = pruned.survivors
        if query.ids is not None:
            survivors = [query.ids[place] for place in survivors]
        return Survivors(survivors, pruned.kept, pruned.order.size, falls_back)

    def rank(self, name: str, query: RankQuery) -> RankedList:
        """Prune, rerank the survivors, and make the final list as certified."""
        if self.reranker is None:
            raise Refusal(409, "no reranker", "there is no reranker here: start the service with --reranker MODEL")
        served, falls_back = self.served(name), self.falls_back(name)
        refuse_other_system(served.certificate, {"reranker": self.reranker.fingerprint}, self.any_system)
        given, ids = query.documents, [each.id for each in query.documents]
        scores = self._scores(Query([each.score for each in given]))
        pruned = self._pruned(name, scores, ids, query.id, falls_back)
        survivors = [given[place] for place in pruned.survivors]
        reranked = self.reranker.rerank(query.query, [each.id for each in survivors], [each.text for each in survivors])
        listed = [
            Placed(ids[each.place], float(scores[each.place]), each.reranker, each.score)
            for each in served.stage.finish(pruned, reranked)
        ]
        return RankedList(listed, pruned.kept, pruned.order.size, falls_back)

    def falls_back(self, name: str) -> bool:
        """Is nothing pruned, because the claim is not believed any more and that was asked for?"""
        return self.fall_back and name in self._standings and self._standings[name].alarmed

    def watch(self, served: Served) -> None:
        """Monitor a certificate that is new here; one that abstained claims nothing that could be watched."""
        self._monitors.pop(served.name, None)
        self._standings.pop(served.name, None)
        if self.store is not None and served.certificate.status != "abstained":
            self._monitors[served.name] = Monitor(served.certificate, self.store, any_length=served.stage.any_length)
            self.refresh(served.name)

    def refresh(self, name: str) -> None:
        """See what the store says now: other processes may have counted."""
        if (monitor := self._monitors.get(name)) is None:
            return
        standing = monitor.standing()
        self._standings[name] = standing
        self.metrics.believed.labels(name).set(not standing.alarmed)
        for stream in STREAMS:
            if (evidence := getattr(standing, stream).ever) is not None:
                self.metrics.evidence.labels(name, stream).set(evidence)

    def monitor(self, name: str) -> Monitor:
        self.served(name)
        if name not in self._monitors:
            missing = "is not monitored: start the service with --monitor STORE" if self.store is None else "abstained"
            raise Refusal(409, "unmonitored", f"the certificate '{name}' {missing}")
        return self._monitors[name]

    def belief(self, name: str) -> str | None:
        """Is it believed? None where nobody watches."""
        return self._standings[name].belief if name in self._standings else None

    def standing(self, name: str) -> Standing:
        self.monitor(name)
        return self._standings[name]

    def feedback(self, name: str, records: Sequence[Feedback]) -> Counted:
        """Count feedback; when this returns, it is on disk."""
        if len(records) > self.limits.queries:
            raise Refusal(413, "too large", f"{len(records):,} records: at most {self.limits.queries:,} a request")
        added = self.monitor(name).add(records)
        self.refresh(name)
        return Counted(**asdict(added))

    def count_seen(self) -> None:
        """Count the queries that were sampled since the last time."""
        by_name: dict[str, list[Feedback]] = {}
        while self._seen:
            name, record = self._seen.popleft()
            by_name.setdefault(name, []).append(record)
        for name, records in by_name.items():
            if name in self._monitors and not self._counted(name, records):
                refused = sum(not self._counted(name, [record]) for record in records)
                self.metrics.unobserved.inc(refused)
            self.refresh(name)

    def _counted(self, name: str, records: Sequence[Feedback]) -> bool:
        """Count sampled queries, all of them or none."""
        try:
            self._monitors[name].add(records, keep=False)
        except InputError:
            return False
        return True

    def _scores(self, query: Query) -> Float32:
        if isinstance(query.scores, bytes):
            if len(query.scores) % 4:
                raise InputError(f"scores are {len(query.scores)} bytes, which are no 32-bit floats: 4 bytes each")
            scores: Float32 = np.frombuffer(query.scores, dtype="<f4")
        else:
            scores = as_float32(np.array(query.scores))
        if scores.size > self.limits.candidates:
            raise Refusal(413, "too large", f"{scores.size:,} candidates: at most {self.limits.candidates:,} a query")
        return scores

    def _pruned(
        self, name: str, scores: Float32, ids: Sequence[str] | None, query: str | None, falls_back: bool
    ) -> Pruned:
        served = self.served(name)
        pruned = _everything(served, scores, ids) if falls_back else served.stage.prune(scores, ids)
        self.metrics.kept.labels(name).observe(pruned.kept)
        self.metrics.candidates.labels(name).inc(pruned.order.size)
        if falls_back:
            self.metrics.fallbacks.labels(name).inc()
        if self.observed and pruned.order.size and random.random() < self.observed:
            self._sample(name, query, pruned)
        return pruned

    def _sample(self, name: str, query: str | None, pruned: Pruned) -> None:
        if name not in self._monitors:
            return
        if len(self._seen) >= _WAITING:
            self.metrics.unobserved.inc()
            return
        identity = query or f"sampled {random.getrandbits(96):x}"
        ids = [str(place) for place in range(pruned.order.size)]
        self._seen.append((name, Feedback(identity, ids, pruned.scores.tolist())))


def _everything(served: Served, scores: Float32, ids: Sequence[str] | None) -> Pruned:
    order, kept = served.everything.ranked(scores, ids, any_length=True, any_system=True)
    return Pruned(order, kept, scores[order])
