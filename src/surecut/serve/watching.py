"""The monitors of what is served, by the digest of the certificate: a name may stand for another one tomorrow."""

import time
from collections.abc import Collection

from surecut.errors import InputError
from surecut.monitoring.monitor import Monitor
from surecut.monitoring.standing import Standing
from surecut.monitoring.store import Store
from surecut.serve.refusing import Refusal
from surecut.serve.shelf import Served

LONG_AGO = 60.0  # seconds


class Watcher:
    """Knows how certificates stand, as far as a store says; `fall_back`: what is not believed prunes nothing."""

    def __init__(self, store: Store | None, fall_back: bool = False, any_length: bool = False) -> None:
        self._store, self._fall_back, self._any_length = store, fall_back, any_length
        self._monitors: dict[str, Monitor] = {}
        self._standings: dict[str, tuple[float, Standing]] = {}

    def monitor(self, served: Served) -> Monitor:
        """The monitor of a certificate, or the sentence that says why there is none."""
        found = self._monitors.get(served.digest)
        if found is None:
            if self._store is None:
                raise Refusal(409, "unmonitored", "nothing is monitored: start the service with --monitor STORE")
            try:
                found = Monitor(served.certificate, self._store, any_length=self._any_length)
            except InputError as error:
                raise Refusal(409, "unmonitored", error.sentence) from None
            self._monitors[served.digest] = found
        return found

    def refresh(self, served: Served) -> Standing | None:
        """See what the store says now, also of what other processes counted; nothing of what cannot be watched."""
        try:
            standing = self.monitor(served).standing()
        except Refusal:
            return None
        self._standings[served.digest] = time.monotonic(), standing
        return standing

    def standing(self, served: Served) -> Standing | None:
        """How it stood when it was last looked at; nothing if that is long ago, because the store does not answer."""
        seen, standing = self._standings.get(served.digest, (0.0, None))
        return standing if time.monotonic() - seen < LONG_AGO else None

    def falls_back(self, served: Served) -> bool:
        """Is nothing pruned, because it is not believed, or because nobody knows? Only where that was asked for."""
        if not self._fall_back or served.certificate.status == "abstained":
            return False
        standing = self.standing(served)
        return standing is None or standing.alarmed

    def forget_others(self, served: Collection[str]) -> None:
        """Forget certificates that are not served any more."""
        for digest in set(self._monitors) - set(served):
            self._monitors.pop(digest)
            self._standings.pop(digest, None)
