"""A certificate under watch: feedback in, evidence out, nothing lost and nothing counted twice."""

import secrets
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from surecut.candidates import Candidates
from surecut.certificate import Certificate, load_certificate
from surecut.errors import InputError
from surecut.monitoring import store as kept
from surecut.monitoring.drift import Drift
from surecut.monitoring.feedback import Feedback, as_feedback
from surecut.monitoring.ledger import Entry, entries, observe
from surecut.monitoring.looks import looks_reached, queries_of
from surecut.monitoring.measuring import Gauge, as_candidates
from surecut.monitoring.settings import Settings
from surecut.monitoring.standing import Point, Standing, standing_of
from surecut.monitoring.store import Connection, KeptFeedback, Period, Store
from surecut.monitoring.streams import STREAMS, USUAL_LEVELS, Levels, Mean, State, Traffic
from surecut.targets import Agreement

_TOGETHER = 500  # records counted in one transaction


@dataclass(frozen=True)
class Added:
    """What became of records: how many each stream counted, and how many said nothing that was not known."""

    records: int
    counted: dict[str, int]
    known: int

    def __add__(self, other: "Added") -> "Added":
        both = {name: self.counted[name] + other.counted[name] for name in STREAMS}
        return Added(self.records + other.records, both, self.known + other.known)


NOTHING = Added(0, dict.fromkeys(STREAMS, 0), 0)


class Monitor:
    """Watches whether a certificate's claim still holds, by feedback from the traffic.

    `store` is the path of an SQLite file, or a URL such as postgresql://user@host/name; several processes may share it.
    Feedback begins a period with the usual settings if `start` did not; `any_length` is then as there.

    >>> monitor = Monitor("cert.json", "monitor.db")  # doctest: +SKIP
    >>> monitor.add([Feedback(id="q17", measured=0.5, full=1.0)])  # doctest: +SKIP
    >>> monitor.standing().belief  # doctest: +SKIP
    'believed'
    """

    def __init__(
        self,
        certificate: Certificate | str | Path,
        store: Store | str | Path = kept.DEFAULT_STORE,
        *,
        any_length: bool = False,
    ) -> None:
        self.certificate = certificate if isinstance(certificate, Certificate) else load_certificate(certificate)
        if self.certificate.status == "abstained":
            raise InputError("the certificate abstained: it claims and prunes nothing, so there is nothing to watch")
        self.store = store if isinstance(store, Store) else Store(store)
        self._digest, self._any_length = self.certificate.digest, any_length

    def __repr__(self) -> str:
        return f"Monitor({self._digest[:8]}, {self.store.name!r})"

    def start(
        self,
        reference: Candidates | None = None,
        *,
        levels: Levels = USUAL_LEVELS,
        floor: Agreement | None = None,
        first_look: int | None = None,
        any_length: bool = False,
    ) -> None:
        """Begin to watch. Everything here is declared before any feedback is seen.

        Args:
            reference: The calibration queries, which traffic is compared with; without them, with earlier traffic.
            levels: The evidence that raises an alarm.
            floor: The least agreement to expect of shadow reranking, made by `agreement`; without it no alarm.
            first_look: Complete queries for a first recalibration; by default as many as the certificate rests on.
            any_length: Take lists longer or shorter than any calibrated on.
        """
        drift = Drift.beside(reference) if reference else Drift()
        settings, state = self._fresh(drift, levels, floor, first_look, any_length)
        with self.store.writing() as connection:
            if kept.latest(connection, self._digest) is not None:
                raise InputError(
                    f"{self.store.name}: this certificate is watched already; a restart begins a new period"
                )
            self._begin(connection, settings, state)

    def restart(
        self,
        reference: Candidates | None = None,
        *,
        levels: Levels | None = None,
        floor: Agreement | None = None,
        first_look: int | None = None,
        any_length: bool | None = None,
    ) -> None:
        """Begin a new period: evidence, alarms and looks start afresh. What is not said stays as it was declared."""
        with self.store.writing() as connection:
            before = self._held(connection)
            old = Settings.from_json(before.settings)
            settings, state = self._fresh(
                Drift.beside(reference) if reference else Drift.from_json(kept.reference_of(connection, before.id)),
                levels or old.levels,
                floor or (None if old.floor is None else Agreement(old.floor, old.top)),
                first_look or old.first_look,
                old.any_length if any_length is None else any_length,
            )
            self._begin(connection, settings, state)

    def add(self, records: Iterable[Feedback], keep: bool = True) -> Added:
        """Count feedback; when this returns, it is on disk. What is known already is not counted again.

        A record that cannot be the certificate's is an error, and none of the (up to 500) around it is counted.
        `keep` keeps the records themselves, which a recalibration needs.
        """
        done, rest = NOTHING, iter(records)
        while together := list(islice(rest, _TOGETHER)):
            done += self._add(together, keep)
        return done

    def add_data(self, data: Candidates) -> Added:
        """Count queries of run files or of a score table, each under its own id."""
        return self.add(as_feedback(data))

    def standing(self) -> Standing:
        """Is the certificate still believed?"""
        with self.store.reading() as connection:
            period = kept.latest(connection, self._digest)
        if period is None:
            period = Period(0, self._digest, 0, "", *self._unstarted(), time.time())
        settings = Settings.from_json(period.settings)
        target = self._gauge(settings).target
        return standing_of(self.certificate, target, State.from_json(period.state), settings, period)

    def history(self, stream: str, points: int = 400) -> list[Point]:
        """The evidence over time, at most about so many points of it."""
        with self.store.reading() as connection:
            period = kept.latest(connection, self._digest)
            if period is None:
                return []
            rows = kept.evidence(connection, period.id, stream, points)
        return [Point(*row) for row in rows]

    def complete(self, look: int | None = None) -> tuple[Candidates, int]:
        """The queries of a look at the complete feedback, by default of the last one there is, and its number."""
        with self.store.reading() as connection:
            period = kept.latest(connection, self._digest)
            if period is None:
                raise InputError(f"{self.store.name}: nothing has come in for this certificate")
            first, complete = Settings.from_json(period.settings).first_look, State.from_json(period.state).complete
            number = looks_reached(complete, first) if look is None else look
            if not 1 <= number <= looks_reached(complete, first):
                raise InputError(
                    f"{self.store.name}: {complete:,} complete queries have come in, and look {max(number, 1)} is at "
                    f"{queries_of(max(number, 1), first):,}: wait for more (candidates with the scores of both stages, "
                    "and judgements)"
                )
            records = kept.complete_feedback(connection, period.id, queries_of(number, first))
        return as_candidates([Feedback.unpacked(each) for each in records], self.certificate.depth), number

    def took(self, look: int, found: Certificate) -> None:
        """Write down that a look was taken, and what came of it."""
        with self.store.writing() as connection:
            period = self._held(connection)
            kept.note_look(connection, period.id, look, found.status, found.digest)

    def _fresh(
        self,
        drift: Drift,
        levels: Levels,
        floor: Agreement | None,
        first_look: int | None,
        any_length: bool,
    ) -> tuple[Settings, State]:
        gauge = Gauge(self.certificate, None if floor is None else floor.k, any_length)
        settings = Settings(
            levels,
            gauge.top,
            None if floor is None else floor.value,
            first_look or int(self.certificate.calibration["units"]),
            any_length,
            drift.seen,
            secrets.token_hex(8),
        )
        return settings, State(Mean(gauge.target.level), Mean(None if floor is None else floor.level), Traffic(drift))

    def _unstarted(self) -> tuple[Any, Any]:
        settings, state = self._fresh(Drift(), USUAL_LEVELS, None, None, self._any_length)
        return asdict(settings), state.to_json()

    def _begin(self, connection: Connection, settings: Settings, state: State) -> Period:
        return kept.begin(connection, self._digest, self.certificate.to_json(), asdict(settings), state.to_json())

    def _held(self, connection: Connection) -> Period:
        """The present period, which no other process counts in until the transaction ends; a first one if need be."""
        period = kept.latest(connection, self._digest, hold=True)
        if period is None:
            kept.take_turns(connection)
            period = kept.latest(connection, self._digest, hold=True)
        return period or kept.begin(connection, self._digest, self.certificate.to_json(), *self._unstarted())

    def _gauge(self, settings: Settings) -> Gauge:
        return Gauge(self.certificate, settings.top, settings.any_length)

    def _add(self, records: Sequence[Feedback], keep: bool) -> Added:
        with self.store.writing() as connection:
            period = self._held(connection)
            settings, state = Settings.from_json(period.settings), State.from_json(period.state)
            ids = list(dict.fromkeys(each.id for each in records))
            told = entries(records, kept.known_feedback(connection, period.id, ids))
            counted, gauge = kept.counted(connection, period.id, ids), self._gauge(settings)
            rows = [
                row
                for entry, reading in zip(told, gauge.read([each.told for each in told]), strict=True)
                for row in observe(entry.told.id, reading, counted, state, settings)
            ]
            if keep:
                kept.keep_feedback(connection, period.id, _kept(told, gauge, state))
            kept.count(connection, period.id, rows, state.to_json())
        news = {row["id"] for row in rows}
        streams = [row["stream"] for row in rows]
        return Added(
            len(records), {name: streams.count(name) for name in STREAMS}, sum(each.id not in news for each in records)
        )


def _kept(told: Sequence[Entry], gauge: Gauge, state: State) -> dict[str, KeptFeedback]:
    """Records with something new in them, those that became complete numbered on."""
    rows = {}
    for entry in told:
        if not entry.news:
            continue
        number = None if entry.before is None else entry.before.complete
        if number is None and gauge.complete(entry.told):
            state.complete += 1
            number = state.complete
        arrived = time.time() if entry.before is None else entry.before.arrived
        rows[entry.told.id] = KeptFeedback(entry.told.packed(), number, arrived)
    return rows
