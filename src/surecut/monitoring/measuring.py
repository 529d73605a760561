"""From feedback to numbers: X of the claim, agreement with the unpruned list, and the score profile."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from surecut.arrays import Float64
from surecut.candidates import Candidates
from surecut.certificate import Certificate
from surecut.checking import claimed_target, declared_measure
from surecut.curves import Tail, measure_curves
from surecut.errors import InputError
from surecut.fusion import final_scores
from surecut.integrations.stage import of_query, refuse_rising
from surecut.measures import AnyMeasure, cutoff_of, is_built_in, overlap
from surecut.monitoring.drift import profile
from surecut.monitoring.feedback import Feedback
from surecut.ordering import as_float32
from surecut.targets import Target

DEFAULT_TOP = 10


@dataclass(frozen=True)
class Reading:
    """What one query's feedback says, as far as it has come."""

    claim: "Claimed | None" = None
    overlap: float | None = None
    profile: Mapping[str, float] | None = None


@dataclass(frozen=True)
class Claimed:
    """X of the claim, from the measure of the list that was served and of the one with nothing pruned."""

    x: float
    measured: float
    full: float


class Gauge:
    """Reads feedback the way one certificate's claim is measured."""

    def __init__(self, certificate: Certificate, top: int | None = None, any_length: bool = False) -> None:
        self.certificate, self._any_length = certificate, any_length
        self.target: Target = claimed_target(certificate, _only_in_python)
        self.measure: AnyMeasure | None = None  # one of the user's own is measured by the user
        if certificate.target["kind"] != "risk" and is_built_in(certificate.measure):
            self.measure = self.target.measure(declared_measure(certificate, None))
        self.top = top or cutoff_of(certificate.measure) or DEFAULT_TOP
        self._counts_empty = "empty_lists" in certificate.calibration  # is it about queries with nothing retrieved too?

    def read(self, records: Sequence[Feedback]) -> list[Reading]:
        """What each record says; one whose lists cannot be the certificate's is refused by its id."""
        listed = {each.id: each for each in records if each.retriever}
        for each in listed.values():
            with of_query(each.id):
                refuse_rising(as_float32(np.array(each.retriever)))
        lists = _candidates(listed, shadowed=False)
        profiles = self._profiles(lists)
        shadowed = {name: each for name, each in listed.items() if each.reranker is not None}
        overlaps, values = self._values(_candidates(shadowed, shadowed=True)) if shadowed else ({}, {})
        return [
            Reading(
                self._claimed(each, values.get(each.id)),
                each.overlap if each.overlap is not None else overlaps.get(each.id),
                profiles.get(each.id),
            )
            for each in records
        ]

    def complete(self, record: Feedback) -> bool:
        """Does it have all that a recalibration needs?"""
        if self.measure is None or (self.measure.needs_judgements and not record.judgements):
            return False
        if record.retriever is not None and not len(record.retriever):
            return self._counts_empty and self.measure.needs_judgements
        return record.retriever is not None and record.reranker is not None

    def _profiles(self, data: Candidates) -> dict[str, Mapping[str, float]]:
        if not data.retriever.size:
            return {}
        self._refuse_others(data)
        bounds = zip(data.offsets[:-1].tolist(), data.offsets[1:].tolist(), strict=True)
        return {
            str(query): profile(data.retriever[low:high])
            for query, (low, high) in zip(data.query_ids, bounds, strict=True)
        }

    def _refuse_others(self, data: Candidates) -> None:
        """Refuse lists that cannot be the certificate's, naming the first that cannot."""
        try:
            self.certificate.keep(data.retriever, offsets=data.offsets, any_length=self._any_length)
        except InputError:
            bounds = zip(data.offsets[:-1].tolist(), data.offsets[1:].tolist(), strict=True)
            for query, (low, high) in zip(data.query_ids, bounds, strict=True):
                with of_query(query):
                    self.certificate.keep(data.retriever[low:high], any_length=self._any_length)
            raise

    def _values(self, data: Candidates) -> tuple[dict[str, float], dict[str, tuple[float, float]]]:
        """Each query's overlap, and its measure pruned and with nothing pruned."""
        final = final_scores(data, float(self.certificate.fusion["beta"]))
        keys = self.certificate.pruner.rule.keys(data)
        agreed, _ = self._measured(data, keys, final, overlap(self.top))
        overlaps = dict(zip(data.query_ids, agreed.tolist(), strict=True))
        if self.measure is None:
            return overlaps, {}
        pruned, full = self._measured(data, keys, final, self.measure)
        judged = data.judged if self.measure.needs_judgements else np.ones(len(data), dtype=np.bool_)
        rows = zip(data.query_ids, judged.tolist(), pruned.tolist(), full.tolist(), strict=True)
        return overlaps, {query: (value, whole) for query, known, value, whole in rows if known}

    def _measured(
        self, data: Candidates, keys: Float64, final: Float64, measure: AnyMeasure
    ) -> tuple[Float64, Float64]:
        certificate = self.certificate
        tail: Tail = "append" if certificate.tail == "append" else "drop"
        curves = measure_curves(data, keys, final, measure, tail, certificate.min_keep, certificate.max_keep)
        return curves.at(certificate.threshold), curves.full

    def _claimed(self, record: Feedback, computed: tuple[float, float] | None) -> Claimed | None:
        """X of the claim; figures that come with the feedback go before computed ones."""
        found = self._figures(record) or computed or self._of_empty(record)
        if found is None:
            return None
        measured, full = found
        return Claimed(float(self.target.variable(np.array([measured]), np.array([full]))[0]), measured, full)

    def _figures(self, record: Feedback) -> tuple[float, float] | None:
        """What the feedback says itself, if that is enough for the claim."""
        given = record.overlap if self.target.kind == "agreement" else record.measured
        if given is None or (record.full is None and self.target.is_drop):
            return None
        return given, 0.0 if record.full is None else record.full

    def _of_empty(self, record: Feedback) -> tuple[float, float] | None:
        """A query for which nothing was retrieved, where those count: nothing to disagree about, and nothing found."""
        if not self._counts_empty or record.retriever is None or len(record.retriever):
            return None
        if self.target.kind == "agreement":
            return 1.0, 1.0
        return (0.0, 0.0) if record.judgements and self.measure is not None else None


def as_candidates(records: Sequence[Feedback], depth: int) -> Candidates:
    """Complete records as data to calibrate on, each query under its feedback's id."""
    data = _candidates({each.id: each for each in records}, shadowed=True)
    return replace(data, depth=depth)


def _candidates(records: Mapping[str, Feedback], shadowed: bool) -> Candidates:
    """The records' lists, with the second stage and the judgements where all have it; empty ones are judged."""
    for each in records.values():
        if len(set(each.ids or ())) < len(each.ids or ()):
            raise InputError(f"feedback '{each.id}': a document is twice among its candidates: keep one of them")
    first = {name: _scores(each, each.retriever) for name, each in records.items()}
    second = {name: _scores(each, each.reranker) for name, each in records.items()} if shadowed else None
    grades = {name: each.judgements for name, each in records.items() if shadowed and each.judgements}
    return Candidates.from_dicts(first, second, grades or None, absent="zero")


def _scores(record: Feedback, column: Sequence[float] | None) -> dict[str, float]:
    return dict(zip(record.ids or (), column or (), strict=True))


def _only_in_python(grades: Any, missed: Any) -> float:
    """Stands for a loss of the user's, whose values come with the feedback."""
    raise InputError("a loss of your own is measured by you: give `measured` with the feedback")
