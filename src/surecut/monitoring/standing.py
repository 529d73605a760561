"""Is the certificate still believed, on what evidence, and what to do if it is not."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from surecut.certificate import Certificate
from surecut.monitoring.looks import looks_reached, queries_of
from surecut.monitoring.settings import Settings
from surecut.monitoring.store import Period
from surecut.monitoring.streams import Levels, Mean, State
from surecut.targets import Agreement, Target, claimed_quantity

BELIEVED, IN_DOUBT, NOT_BELIEVED, UNWATCHED = "believed", "in doubt", "not believed", "no evidence yet"


@dataclass(frozen=True)
class Stream:
    """One stream: how many observations, what they say, and the evidence against what is believed.

    `ever` is evidence that remembers everything, `recent` evidence that forgets (an e-CUSUM); both begin at 1.
    `alarms` says after how many observations each reached its level.
    """

    count: int
    words: str  # what they say
    estimate: float | None
    claimed: float | None
    ever: float | None
    recent: float | None
    alarms: Mapping[str, int]


@dataclass(frozen=True)
class Point:
    """The evidence after so many observations, at a time in seconds since 1970."""

    count: int
    arrived: float
    ever: float | None
    recent: float | None


@dataclass(frozen=True)
class Standing:
    """What is known of a certificate in the present period."""

    belief: str  # believed, in doubt, not believed, no evidence yet
    reasons: tuple[str, ...]
    advice: tuple[str, ...]
    statement: str
    digest: str
    period: int
    started: float
    levels: Levels
    claim: Stream
    agreement: Stream
    drift: Stream
    complete: int  # queries with all that a recalibration needs
    look: int  # the last look that a recalibration could take
    next_look: int  # queries of the one after it
    looks: tuple[tuple[int, str], ...]  # those that were taken, and how they ended

    @property
    def alarmed(self) -> bool:
        """Is the claim itself no longer believed?"""
        return self.belief == NOT_BELIEVED

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def standing_of(
    certificate: Certificate,
    target: Target,
    state: State,
    settings: Settings,
    period: Period,
    looks: Sequence[tuple[int, str]] = (),
) -> Standing:
    """The state of a period in words."""
    levels, floor = settings.levels, settings.floor
    look = looks_reached(state.complete, settings.first_look)
    belief = _belief(state, settings)
    return Standing(
        belief=belief,
        reasons=(*_earlier_reasons(settings), *_claim_reasons(state.claim, levels), *_other_reasons(state, settings)),
        advice=_advice(belief, state.complete, look, settings.first_look),
        statement=certificate.statement,
        digest=certificate.digest,
        period=period.number,
        started=period.started,
        levels=levels,
        claim=_mean_stream(state.claim, target),
        agreement=_mean_stream(state.agreement, None if floor is None else Agreement(floor, settings.top)),
        drift=_traffic_stream(state, settings),
        complete=state.complete,
        look=look,
        next_look=queries_of(look + 1, settings.first_look),
        looks=tuple(looks),
    )


def _belief(state: State, settings: Settings) -> str:
    if state.claim.alarms or settings.disbelieved:
        return NOT_BELIEVED
    if state.agreement.alarms or state.drift.alarms:
        return IN_DOUBT
    return BELIEVED if state.claim.count else UNWATCHED


def _mean_stream(mean: Mean, target: Target | None) -> Stream:
    """What is found beside what is claimed; without a claim, it is only counted."""
    estimate, claimed = None, None if target is None else target.value
    if mean.count:
        measured, full = np.array([mean.measured / mean.count]), np.array([mean.full / mean.count])
        estimate = float(measured[0]) if target is None else target.estimate(measured, full)
    ever, recent = (None, None) if mean.level is None else (mean.evidence.ever, mean.evidence.recent)
    words = _found(estimate, target or Agreement(0.5), claimed)
    return Stream(mean.count, words, estimate, claimed, _number(ever), _number(recent), mean.alarms)


def _found(estimate: float | None, target: Target, claimed: float | None) -> str:
    unit, shown = claimed_quantity(target.kind)
    found = "nothing yet" if estimate is None else f"{unit}{shown(estimate)}"
    least = "at least" if target.rising else "at most"
    return found if claimed is None else f"{found} ({least} {shown(claimed)})"


def _traffic_stream(state: State, settings: Settings) -> Stream:
    beside = f"{settings.reference:,} reference queries" if settings.reference else "earlier traffic"
    evidence = _number(state.drift.evidence.ever)
    return Stream(state.drift.count, f"beside {beside}", None, None, evidence, None, state.drift.alarms)


def _earlier_reasons(settings: Settings) -> list[str]:
    if not settings.disbelieved:
        return []
    return ["in an earlier period the evidence was against the claim, and nobody has said that its cause was mended"]


def _alarm_reasons(mean: Mean, levels: Levels, queries: str, what: str) -> list[str]:
    """Each alarm about a mean, with what it promises."""
    said = []
    if "ever" in mean.alarms:
        said.append(
            f"after {mean.alarms['ever']:,} {queries} the evidence against {what} reached {levels.ever:g}; were it "
            f"true, that would ever happen with a probability of at most {1 / levels.ever:.3g}"
        )
    if "recent" in mean.alarms:
        said.append(
            f"after {mean.alarms['recent']:,} {queries} the evidence that {what} has recently become false reached "
            f"{levels.recent:g}; without a change that takes at least {levels.recent:,.0f} of them, on average"
        )
    return said


def _claim_reasons(claim: Mean, levels: Levels) -> list[str]:
    said = _alarm_reasons(claim, levels, "labelled queries", "the claim")
    if not said and not claim.count:
        said.append("no labelled query has come in yet")
    if not said:
        said.append(f"{claim.count:,} labelled queries do not speak against the claim")
    return said


def _other_reasons(state: State, settings: Settings) -> list[str]:
    what = (
        f"an agreement of at least {settings.floor:.6g} with the unpruned top {settings.top}" if settings.floor else ""
    )
    said = _alarm_reasons(state.agreement, settings.levels, "queries reranked in the shadow", what)
    if state.drift.alarms:
        among = "those of the reference queries" if settings.reference else "earlier ones"
        said.append(
            f"after {state.drift.alarms['ever']:,} queries the retriever's scores are not like {among} (look at their "
            f"{_NAMES[state.drift.drift.suspect]}); were they, that would ever be said with a probability of at most "
            f"{1 / settings.levels.ever:.3g}"
        )
    return said


_NAMES = {"best": "best scores", "spread": "spread", "peak": "best score's distance from the others"}


def _advice(belief: str, complete: int, look: int, first_look: int) -> tuple[str, ...]:
    if belief == UNWATCHED:
        return ("send feedback with labels for a random sample of the traffic",)
    if belief == BELIEVED:
        return ()
    if look:
        queries = queries_of(look, first_look)
        recalibrate = f"make a new certificate from the first {queries:,} complete queries: surecut recalibrate"
    else:
        recalibrate = f"collect feedback: surecut recalibrate has {complete:,} of {first_look:,} complete queries"
    if belief == IN_DOUBT:
        return ("label a random sample of the present traffic: only labels tell whether the claim holds", recalibrate)
    return (
        "prune nothing until there is a new certificate: surecut serve --fall-back sees to that",
        recalibrate,
        "if most of that came in before the change, count afresh first: surecut monitor restart (--believe-again if "
        "what was wrong has been mended)",
    )


def _number(log: float | None) -> float | None:
    """Evidence as a number that JSON can hold."""
    return None if log is None else math.exp(min(log, 700.0))
