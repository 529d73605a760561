"""Who may ask, how much at once, and how often."""

import hashlib
import hmac
import time
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from surecut.errors import InputError
from surecut.io.limits import LARGEST_DOCUMENT, read_document

SHORTEST_KEY = 16

_CLIENTS = 10_000


@dataclass(frozen=True)
class Limits:
    """What one request, and one client, may ask for."""

    body: int = 8 * 2**20  # bytes; as numbers and texts, a body takes up to 45 times as many
    queries: int = 1_000  # a request
    candidates: int = 10_000  # a query
    rate: float | None = None  # requests a second, for each client


def read_keys(path: str | Path) -> list[str]:
    """Keys from a file, one a line; what begins with # is a comment."""
    lines = read_document(path, LARGEST_DOCUMENT).splitlines()
    keys = [line for line in map(str.strip, lines) if line and not line.startswith("#")]
    if not keys:
        raise InputError(f"{path}: no key in it; one a line is expected")
    if short := [place for place, key in enumerate(keys, start=1) if len(key) < SHORTEST_KEY]:
        raise InputError(f"{path}: key {short[0]} has fewer than {SHORTEST_KEY} characters, and could be guessed")
    return keys


class Keys:
    """The keys that open the service; without any it is open."""

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self._digests = [hashlib.sha256(key.encode()).digest() for key in keys]

    def __bool__(self) -> bool:
        return bool(self._digests)

    def opens(self, key: str) -> bool:
        """Compared in constant time, with all of them, so that the time it takes tells nothing."""
        digest = hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()
        return sum(hmac.compare_digest(digest, known) for known in self._digests) > 0


class Rate:
    """A bucket of tokens for each client, one second deep."""

    def __init__(self, rate: float | None) -> None:
        self._rate = rate
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, client: str, now: float | None = None) -> float:
        """Take a token: 0 if there was one, else the seconds until there is."""
        if self._rate is None:
            return 0.0
        time_now = time.monotonic() if now is None else now
        depth = max(self._rate, 1.0)
        tokens, before = self._buckets.pop(client, (depth, time_now))
        tokens = min(depth, tokens + (time_now - before) * self._rate)
        allowed = tokens >= 1.0
        self._buckets[client] = (tokens - 1.0 if allowed else tokens, time_now)
        if len(self._buckets) > _CLIENTS:
            self._buckets.popitem(last=False)  # the one that was longest away; its bucket is full again or nearly
        return 0.0 if allowed else (1.0 - tokens) / self._rate
