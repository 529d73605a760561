"""What Prometheus sees."""

import contextlib

from surecut.extras import needed
from surecut.monitoring.standing import Standing
from surecut.monitoring.streams import STREAMS

needed("prometheus_client", "serve")

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest  # noqa: E402
from prometheus_client.exposition import CONTENT_TYPE_LATEST as CONTENT_TYPE  # noqa: E402

__all__ = ["CONTENT_TYPE", "Metrics"]

_SIZES = (0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000)
_SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


class Metrics:
    """Sizes, times and refusals of one service."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        one, registry = ("certificate",), self._registry
        self.kept = Histogram("surecut_kept", "Candidates kept, a query.", one, buckets=_SIZES, registry=registry)
        self.candidates = Counter("surecut_candidates", "Candidates seen.", one, registry=registry)
        self.seconds = Histogram(
            "surecut_request_seconds", "Time a request takes.", ("route",), buckets=_SECONDS, registry=registry
        )
        self.responses = Counter("surecut_responses", "Responses by status.", ("route", "status"), registry=registry)
        self.refusals = Counter("surecut_refusals", "Requests refused.", ("reason",), registry=registry)
        self.fallbacks = Counter("surecut_fallbacks", "Queries of which nothing was pruned.", one, registry=registry)
        self.reloads = Counter("surecut_reloads", "Changed files read.", ("certificate", "outcome"), registry=registry)
        self.evidence = Gauge(
            "surecut_evidence", "Evidence against what is believed.", ("certificate", "stream"), registry=registry
        )
        self.believed = Gauge("surecut_believed", "1 while no alarm of the claim.", one, registry=registry)
        self.unobserved = Counter("surecut_unobserved", "Sampled queries that were not counted.", registry=registry)

    def believe(self, name: str, standing: Standing | None) -> None:
        """Show how a certificate stands; nothing of one that is not watched."""
        if standing is None:
            with contextlib.suppress(KeyError):
                self.believed.remove(name)
            for stream in STREAMS:
                with contextlib.suppress(KeyError):
                    self.evidence.remove(name, stream)
            return
        self.believed.labels(name).set(not standing.alarmed)
        for stream in STREAMS:
            if (evidence := getattr(standing, stream).ever) is not None:
                self.evidence.labels(name, stream).set(evidence)

    def text(self) -> bytes:
        return bytes(generate_latest(self._registry))
