"""Feedback as it is counted: records completed bit by bit, each stream counting each id once."""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from surecut.errors import InputError
from surecut.monitoring.feedback import Feedback
from surecut.monitoring.measuring import Reading
from surecut.monitoring.settings import Settings
from surecut.monitoring.store import KeptFeedback
from surecut.monitoring.streams import AGREEMENT, CLAIM, DRIFT, Evidence, State


@dataclass(frozen=True)
class Entry:
    """One id with all that has been told of it, and what of that was known before."""

    told: Feedback
    before: KeptFeedback | None

    @property
    def news(self) -> bool:
        """Was anything told that was not known?"""
        return self.before is None or Feedback.unpacked(self.before.content) != self.told


def entries(records: Sequence[Feedback], known: Mapping[str, KeptFeedback]) -> list[Entry]:
    """Each id once, in the order of arrival; what was told first stays."""
    told: dict[str, Feedback] = {}
    for each in records:
        before = told.get(each.id) or (Feedback.unpacked(known[each.id].content) if each.id in known else None)
        told[each.id] = each if before is None else before.completed_by(each)
        if told[each.id].reranker is not None and told[each.id].ids is None:
            raise InputError(
                f"feedback '{each.id}': reranker scores of candidates that are not known: send ids and retriever with "
                "them, or before"
            )
    return [Entry(each, known.get(name)) for name, each in told.items()]


def observe(
    name: str, reading: Reading, counted: Set[tuple[str, str]], state: State, settings: Settings
) -> Iterator[dict[str, Any]]:
    """Fold what is new of an id into the state, and give a row for each stream that counts it."""
    levels = settings.levels
    evidence: Evidence | None
    if reading.claim is not None and (CLAIM, name) not in counted:
        found = reading.claim
        evidence = state.claim.observe(found.x, levels, found.measured, found.full)
        yield _row(CLAIM, name, state.claim.count, found.x, evidence)
    if reading.overlap is not None and (AGREEMENT, name) not in counted:
        x = 1.0 - reading.overlap
        evidence = state.agreement.observe(x, levels, reading.overlap)
        yield _row(AGREEMENT, name, state.agreement.count, x, evidence)
    if reading.profile is not None and (DRIFT, name) not in counted:
        evidence = state.drift.observe(reading.profile, settings.salt, name, levels)
        yield _row(DRIFT, name, state.drift.count, None, evidence)


def _row(stream: str, name: str, place: int, x: float | None, evidence: Evidence | None) -> dict[str, Any]:
    return {
        "stream": stream,
        "place": place,
        "id": name,
        "x": x,
        "ever": None if evidence is None else evidence.ever,
        "recent": None if evidence is None else evidence.recent,
    }
