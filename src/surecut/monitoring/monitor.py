"""A certificate under watch: feedback in, evidence out, nothing lost and nothing counted twice."""

import secrets
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from surecut.candidates import Candidates
from surecut.certificate import Certificate, load_certificate
from surecut.errors import InputError
from surecut.monitoring import DEFAULT_STORE
from surecut.monitoring import store as kept
from surecut.monitoring.drift import Drift
from surecut.monitoring.feedback import Feedback, as_feedback
from surecut.monitoring.ledger import Entry, entries, observe
from surecut.monitoring.looks import Look, looks_reached, queries_of
from surecut.monitoring.measuring import Gauge, Reading, as_candidates
from surecut.monitoring.settings import Settings
from surecut.monitoring.standing import Point, Standing, standing_of
from surecut.monitoring.store import Connection, KeptFeedback, Period, Store, StoreUnavailable
from surecut.monitoring.streams import STREAMS, USUAL_LEVELS, Levels, Mean, State, Traffic
from surecut.targets import Agreement

_RECORDS, _DOCUMENTS = 500, 500_000
"""As many records, with as many documents, as are counted in one transaction where they come in a stream."""


@dataclass(frozen=True)
class Added:
    """What became of records: how many each stream counted, how many said nothing new, how many were another's.

    Another's are those of lists that were served under another certificate.
    """

    records: int
    counted: dict[str, int]
    known: int
    others: int = 0

    def __add__(self, other: "Added") -> "Added":
        both = {name: self.counted[name] + other.counted[name] for name in STREAMS}
        return Added(self.records + other.records, both, self.known + other.known, self.others + other.others)


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
        store: Store | str | Path = DEFAULT_STORE,
        *,
        any_length: bool = False,
    ) -> None:
        self.certificate = certificate if isinstance(certificate, Certificate) else load_certificate(certificate)
        refuse_unwatchable(self.certificate)
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
        tune_fraction: float = 0.2,
        any_length: bool = False,
    ) -> None:
        """Begin to watch. Everything here is declared before any feedback is seen.

        Args:
            reference: The calibration queries, which traffic is compared with; without them, with earlier traffic.
            levels: The evidence that raises an alarm.
            floor: The least agreement to expect of shadow reranking, made by `agreement`; without it no alarm.
            first_look: Complete queries for a first recalibration; by default as many as the certificate rests on.
            tune_fraction: The share of them that a recalibration sets aside where something is fitted.
            any_length: Take lists longer or shorter than any calibrated on.
        """
        settings, state = self._fresh(
            self._beside(reference, any_length),
            levels=levels,
            floor=floor,
            first_look=first_look,
            tune_fraction=tune_fraction,
            any_length=any_length,
        )
        with self.store.writing() as connection:
            kept.take_turns(connection, self._digest)
            if kept.latest(connection, self._digest) is not None:
                raise InputError(
                    f"{self.store.name}: this certificate is watched already; a restart begins a new period"
                )
            kept.begin(connection, self._digest, asdict(settings), state.to_json())

    def restart(
        self,
        reference: Candidates | None = None,
        *,
        levels: Levels | None = None,
        floor: Agreement | None = None,
        first_look: int | None = None,
        tune_fraction: float | None = None,
        any_length: bool | None = None,
        believe_again: bool = False,
    ) -> None:
        """Begin a new period: evidence and looks start afresh, with fresh queries. What is not said stays.

        A certificate that was not believed is not believed because somebody counts anew: `believe_again` says that
        what made its claim false was mended.
        """
        with self.store.writing() as connection:
            kept.take_turns(connection, self._digest)
            before = kept.latest(connection, self._digest)
            if before is None:
                raise InputError(f"{self.store.name}: this certificate is not watched yet: start it first")
            old, ended = self._read(before)
            lengths = old.any_length if any_length is None else any_length
            settings, state = self._fresh(
                self._beside(reference, lengths) if reference else self._compared_with(connection, before),
                levels=levels or old.levels,
                floor=floor or (None if old.floor is None else Agreement(old.floor, old.top)),
                first_look=first_look or old.first_look,
                tune_fraction=old.tune_fraction if tune_fraction is None else tune_fraction,
                any_length=lengths,
                disbelieved=(old.disbelieved or bool(ended.claim.alarms)) and not believe_again,
            )
            kept.begin(connection, self._digest, asdict(settings), state.to_json())

    def add(self, records: Iterable[Feedback]) -> Added:
        """Count feedback, some records at a time; when this returns, it is on disk. What is known counts once.

        A record that cannot be the certificate's is an error; how many before it were counted is said.
        """
        done = NOTHING
        try:
            for some in _batches(records):
                done += self.add_at_once(some)
        except InputError as error:
            if not done.records:
                raise
            before = f"the {done.records:,} records before were counted, and sending them again counts nothing twice"
            kind = StoreUnavailable if isinstance(error, StoreUnavailable) else InputError
            raise kind(f"{error.sentence} ({before})") from None
        return done

    def add_data(self, data: Candidates) -> Added:
        """Count queries of run files or of a score table, each under its own id."""
        return self.add(as_feedback(data))

    def add_profiles(self, seen: Mapping[str, Mapping[str, float]]) -> int:
        """Count score profiles of the traffic, by the ids of their queries; how many were new."""
        with self.store.writing() as connection:
            period = self._held(connection)
            rows = self._observed(connection, period, {name: Reading(profile=each) for name, each in seen.items()})
        return len(rows)

    def standing(self) -> Standing:
        """Is the certificate still believed?"""
        with self.store.reading() as connection:
            period = kept.latest(connection, self._digest) or self._unstarted()
            looks = kept.looks_taken(connection, period.id)
        settings, state = self._read(period)
        target = self._gauge(settings).target
        return standing_of(self.certificate, target, state, settings, period, looks)

    def history(self, stream: str, points: int = 400) -> list[Point]:
        """The evidence over time, at most about so many points of it."""
        with self.store.reading() as connection:
            period = kept.latest(connection, self._digest)
            rows = [] if period is None else kept.evidence(connection, period.id, stream, points)
        return [Point(*row) for row in rows]

    def look(self, number: int | None = None) -> Look:
        """A look at the complete feedback, by default the last one that there is enough for."""
        with self.store.reading() as connection:
            period = kept.latest(connection, self._digest)
            if period is None:
                raise InputError(f"{self.store.name}: nothing has come in for this certificate")
            settings, state = self._read(period)
            first, complete = settings.first_look, state.complete
            reached = looks_reached(complete, first)
            number = reached if number is None else number
            if not 1 <= number <= reached:
                raise InputError(
                    f"{self.store.name}: {complete:,} complete queries have come in, and look {max(number, 1)} is at "
                    f"{queries_of(max(number, 1), first):,}: wait for more (candidates with the scores of both stages, "
                    "and judgements)"
                )
            records = kept.complete_feedback(connection, period.id, queries_of(number, first))
        with self._undamaged():
            data = as_candidates([Feedback.unpacked(each) for each in records], self.certificate.depth)
        assert len(data) == queries_of(number, first)
        return Look(period.id, number, settings.tune_fraction, data)

    def took(self, look: Look, found: Certificate) -> None:
        """Write down that a look was taken, and what came of it."""
        with self.store.writing() as connection:
            self._held(connection)
            kept.note_look(connection, look.period, look.number, found.status, found.digest)

    def _beside(self, reference: Candidates | None, any_length: bool) -> Drift:
        """A comparison with lists as the certificate is about them."""
        if not reference:
            return Drift()
        lists = reference.cut(self.certificate.depth)
        self.certificate.keep(lists.retriever, offsets=lists.offsets, any_length=any_length)
        return Drift.beside(lists)

    def _fresh(
        self,
        drift: Drift,
        *,
        levels: Levels = USUAL_LEVELS,
        floor: Agreement | None = None,
        first_look: int | None = None,
        tune_fraction: float = 0.2,
        any_length: bool = False,
        disbelieved: bool = False,
    ) -> tuple[Settings, State]:
        gauge = Gauge(self.certificate, None if floor is None else floor.k, any_length)
        if floor is not None and isinstance(gauge.target, Agreement) and gauge.target.k != floor.k:
            raise InputError(
                f"the claim is about agreement with the top {gauge.target.k}, so the floor is too (@{gauge.target.k}): "
                "feedback says one overlap of a query"
            )
        settings = Settings(
            levels=levels,
            top=gauge.top,
            floor=None if floor is None else floor.value,
            first_look=first_look or int(self.certificate.calibration["units"]),
            tune_fraction=tune_fraction,
            any_length=any_length,
            reference=drift.seen,
            salt=secrets.token_hex(8),
            disbelieved=disbelieved,
        )
        return settings, State(Mean(gauge.target.level), Mean(None if floor is None else floor.level), Traffic(drift))

    def _unstarted(self) -> Period:
        """What is there before anything is."""
        settings, state = self._fresh(Drift(), any_length=self._any_length)
        return Period(0, self._digest, 0, asdict(settings), state.to_json(), time.time())

    def _held(self, connection: Connection) -> Period:
        """The present period, which no other process counts in until the transaction ends; a first one if need be."""
        kept.take_turns(connection, self._digest)
        period = kept.latest(connection, self._digest)
        if period is None:
            first = self._unstarted()
            period = kept.begin(connection, self._digest, first.settings, first.state)
        return period

    def _read(self, period: Period) -> tuple[Settings, State]:
        """What a period's row says."""
        with self._undamaged():
            return Settings.from_json(period.settings), State.from_json(period.state)

    def _compared_with(self, connection: Connection, period: Period) -> Drift:
        """What traffic was compared with when a period began."""
        with self._undamaged():
            return Drift.from_json(kept.reference_of(connection, period.id))

    @contextmanager
    def _undamaged(self) -> Iterator[None]:
        """Rows as a monitor wrote them."""
        try:
            yield
        except InputError:
            raise
        except (LookupError, TypeError, ValueError, AttributeError):
            raise StoreUnavailable(
                f"{self.store.name}: damaged, or not a monitor's; restore it, or begin another"
            ) from None

    def _gauge(self, settings: Settings) -> Gauge:
        return Gauge(self.certificate, settings.top, settings.any_length)

    def add_at_once(self, records: Sequence[Feedback]) -> Added:
        """Count all of these records, or none if one of them cannot be the certificate's."""
        own = [each for each in records if each.certificate in (None, self._digest)]
        with self.store.writing() as connection:
            period = self._held(connection)
            stale = kept.known_earlier(connection, period, _ids(own))
            fresh = [each for each in own if each.id not in stale]
            with self._undamaged():
                told = entries(fresh, kept.known_feedback(connection, period.id, _ids(fresh)))
            gauge = self._gauge(self._read(period)[0])
            readings = gauge.read([each.told for each in told])
            found = {entry.told.id: reading for entry, reading in zip(told, readings, strict=True)}
            news = [entry for entry in told if entry.news]
            rows = self._observed(connection, period, found, news)
        streams = [row["stream"] for row in rows]
        return Added(
            len(records),
            {name: streams.count(name) for name in STREAMS},
            len(own) - len(news),
            len(records) - len(own),
        )

    def _observed(
        self, connection: Connection, period: Period, found: Mapping[str, Reading], news: Sequence[Entry] = ()
    ) -> list[dict[str, Any]]:
        """Count what was not counted before, keep what is new, and write down the state after it."""
        settings, state = self._read(period)
        names = list(found)
        counted = kept.counted(connection, period.id, names)
        rows = [row for name in names for row in observe(name, found[name], counted, state, settings)]
        kept.keep_feedback(connection, period.id, _kept(news, self._gauge(settings), state))
        kept.count(connection, period.id, rows, state.to_json())
        return rows


def refuse_unwatchable(certificate: Certificate) -> None:
    """Refuse a certificate whose claim is not about single queries of the traffic, or that claims nothing."""
    if certificate.status == "abstained":
        raise InputError("the certificate abstained: it claims and prunes nothing, so there is nothing to watch")
    if certificate.calibration["units"] != certificate.calibration["queries"]:
        raise InputError(
            "the certificate is about groups of queries, each counting once, and feedback comes query by query: "
            "calibrate without groups, on queries that are a random sample of the traffic"
        )


def _batches(records: Iterable[Feedback]) -> Iterator[list[Feedback]]:
    """Records, as many at a time as fit in little memory."""
    some: list[Feedback] = []
    documents = 0
    for each in records:
        if not isinstance(each, Feedback):
            raise InputError(f"feedback is made by Feedback(id=...), not of type {type(each).__name__}")
        size = len(each.ids or ()) + len(each.judgements or ())
        if some and (len(some) == _RECORDS or documents + size > _DOCUMENTS):
            yield some
            some, documents = [], 0
        some.append(each)
        documents += size
    if some:
        yield some


def _ids(records: Iterable[Feedback]) -> list[str]:
    return list(dict.fromkeys(each.id for each in records))


def _kept(news: Sequence[Entry], gauge: Gauge, state: State) -> dict[str, KeptFeedback]:
    """Records with something new in them, those that became complete numbered on."""
    rows = {}
    for entry in news:
        number = None if entry.before is None else entry.before.complete
        if number is None and gauge.complete(entry.told):
            state.complete += 1
            number = state.complete
        arrived = time.time() if entry.before is None else entry.before.arrived
        rows[entry.told.id] = KeptFeedback(entry.told.packed(), number, arrived)
    return rows
