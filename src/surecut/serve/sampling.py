"""A sample of the traffic for the monitor: score profiles only, decided by the query's id."""

import hashlib
import threading
from collections.abc import Mapping

from surecut.arrays import Float32
from surecut.monitoring.drift import profile

Profiles = dict[str, Mapping[str, float]]

_WAITING = 10_000  # profiles that wait to be counted; more are dropped


class Sampler:
    """Takes a share of the queries that come with an id, the same ones in every process.

    A query without an id could come again, and be counted again, which the test for drift takes for a change.
    """

    def __init__(self, share: float) -> None:
        self._share, self._lock = share, threading.Lock()
        self._waiting: dict[str, Profiles] = {}  # by the certificate's digest

    def see(self, digest: str, query: str | None, scores: Float32) -> bool:
        """Look at one list, best first; no if it had to be dropped."""
        if not self._share or query is None or not scores.size or self._place(query) >= self._share:
            return True
        with self._lock:
            if sum(map(len, self._waiting.values())) >= _WAITING:
                return False
            self._waiting.setdefault(digest, {})[query] = profile(scores)
        return True

    def take(self) -> dict[str, Profiles]:
        """All that wait, by the digest of the certificate they were pruned by."""
        with self._lock:
            waiting, self._waiting = self._waiting, {}
        return waiting

    def put_back(self, taken: Mapping[str, Profiles]) -> None:
        """Count these another time."""
        with self._lock:
            for digest, profiles in taken.items():
                self._waiting[digest] = {**profiles, **self._waiting.get(digest, {})}

    @staticmethod
    def _place(query: str) -> float:
        """Where in [0, 1) a query lies."""
        found = hashlib.blake2b(b"surecut sample " + query.encode(), digest_size=8).digest()
        return int.from_bytes(found, "big") / 2.0**64
