"""A certificate against other data: does its claim hold on queries it has not seen?"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from surecut.arrays import Float32, Float64, Int64
from surecut.bounds import TESTS
from surecut.calibration import quantiles
from surecut.candidates import Candidates
from surecut.certificate import Certificate, refuse_other_system, same_retriever
from surecut.claims import interval
from surecut.curves import as_tail
from surecut.errors import InputError
from surecut.folding import enough, judged_only
from surecut.fusion import final_scores
from surecut.judging import confirm, judged_values
from surecut.lists import Lists, refuse_no_lists
from surecut.measures import AnyMeasure, OwnFunction, OwnMeasure, as_measure
from surecut.preregistered import in_test_order, order_hashes
from surecut.reducing import Reduce, Reduced
from surecut.targets import Target, target_from_json

_SIDE = 0.05
JUDGED = 20_000
"""About as many lists are evaluated twice, at most; which ones is decided by the hashes of their ids."""


@dataclass(frozen=True)
class Check:
    """What other data say: the claim's quantity with a 90% interval, and whether it speaks against the claim.

    `contradicted` is wrong with a probability of at most 5% when the claim is true. `estimate` is the drop, mean or
    overlap found here, `claimed` the value that the certificate allows. `same_data` says that these are the
    calibration queries themselves, which can say nothing new. `judge_difference` is the largest difference between
    surecut and ir-measures over the `judged_lists` that both evaluated: all of them, or some 20,000 where there are
    more; None where ir-measures has no such measure.
    """

    estimate: float
    interval: tuple[float, float]
    contradicted: bool
    mean_kept: float
    kept_quantiles: dict[str, int]
    claimed: float
    mean_full: float
    mean_pruned: float
    mean_candidates: float
    queries: int
    same_data: bool  # are these the calibration queries themselves?
    judge_difference: float | None  # largest difference to ir-measures; None: it has no such measure
    judged_lists: int  # that were evaluated twice

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def check(
    certificate: Certificate,
    data: Lists,
    *,
    loss: OwnFunction | None = None,
    measure: OwnFunction | None = None,
    any_system: bool = False,
    any_length: bool = False,
) -> Check:
    """Prune and rerank `data` as the certificate says, and test its claim on it.

    The lists (some 20,000 of them, where there are more) are evaluated twice, by surecut's kernels and by ir-measures;
    a disagreement is an error.
    """
    refuse_no_lists(data)
    refuse_other_system(certificate, data.system, any_system)
    target = claimed_target(certificate, loss)
    chosen = target.measure(declared_measure(certificate, measure))
    usable = judged_only(data) if chosen.needs_judgements else enough(data)
    found = _Pruned.joined(usable.map(_Prune(certificate, chosen, any_length, min(1.0, JUDGED / len(usable)))))
    if not (any_system or same_retriever(certificate, data.system)):
        certificate.pruner.refuse_other_scale(found.reduced.best, found.worst)
    units = in_test_order(found.reduced.curves, usable, found.reduced.order)
    measured = units.at(certificate.threshold)
    test = TESTS["binomial" if target.binary(chosen) and usable.groups is None else "hedge"]
    low, high = interval(target, measured, units.full, test, _SIDE)
    return Check(
        estimate=target.estimate(measured, units.full),
        interval=(low, high),
        contradicted=certificate.status != "abstained"
        and bool(high < target.value if target.rising else low > target.value),
        mean_kept=float(found.kept.mean()),
        kept_quantiles=quantiles(found.kept),
        claimed=target.value,
        mean_full=float(units.full.mean()),
        mean_pruned=float(measured.mean()),
        mean_candidates=float(usable.lengths.mean()),
        queries=len(usable),
        same_data=found.reduced.fingerprint(usable.query_ids) == certificate.calibration["fingerprint"],
        judge_difference=found.difference,
        judged_lists=found.judged,
    )


@dataclass(frozen=True, eq=False)
class _Pruned:
    """Some queries, pruned, reranked and evaluated twice."""

    reduced: Reduced
    kept: Int64
    worst: Float32  # the retriever's score of the last candidate, of queries that have one
    difference: float | None  # largest one to ir-measures
    judged: int  # lists that it evaluated

    @classmethod
    def joined(cls, parts: Iterable["_Pruned"]) -> "_Pruned":
        several = list(parts)
        differences = [each.difference for each in several if each.difference is not None]
        return cls(
            Reduced.joined(each.reduced for each in several),
            np.concatenate([each.kept for each in several]),
            np.concatenate([each.worst for each in several]),
            max(differences, default=None),
            sum(each.judged for each in several),
        )


@dataclass(frozen=True)
class _Prune:
    """Prunes and reranks a piece as a certificate says."""

    certificate: Certificate
    measure: AnyMeasure
    any_length: bool
    share: float  # of the lists to evaluate twice

    def __call__(self, data: Candidates) -> _Pruned:
        certificate, pruner = self.certificate, self.certificate.pruner
        beta, tail = float(certificate.fusion["beta"]), as_tail(certificate.tail)
        reduce = Reduce(pruner.rule, beta, self.measure, tail, certificate.min_keep, certificate.max_keep)
        reduced = reduce(data)
        kept = pruner.keep(data.retriever, data.offsets, any_length=self.any_length, any_system=True)
        difference, judged = self._judge(data, reduced.curves.at(certificate.threshold), kept)
        worst = data.retriever[data.offsets[1:][data.lengths > 0] - 1]
        return _Pruned(reduced, kept, worst, difference, judged)

    def _judge(self, data: Candidates, own: Float64, kept: Int64) -> tuple[float | None, int]:
        """The largest difference to ir-measures, and over how many lists."""
        chosen = np.flatnonzero(order_hashes(data.query_ids) / 2.0**64 <= self.share)
        if isinstance(self.measure, OwnMeasure) or not chosen.size:
            return None, 0
        some = data if chosen.size == len(data) else data.take(chosen)
        beta, tail = float(self.certificate.fusion["beta"]), as_tail(self.certificate.tail)
        judged = judged_values(some, final_scores(some, beta), kept[chosen], tail, self.measure)
        return confirm(own[chosen], judged, some, self.measure), chosen.size


def claimed_target(certificate: Certificate, loss: OwnFunction | None = None) -> Target:
    """The claim that was certified: the target, or what it was relaxed to."""
    target = target_from_json(dict(certificate.target), loss)
    return target.with_value(float((certificate.relaxed or {}).get("value", target.value)))


def declared_measure(certificate: Certificate, function: OwnFunction | None) -> Any:
    """The measure a certificate names; one of the user's needs its function again."""
    if function is not None:
        return as_measure(function)
    if certificate.target["kind"] in ("agreement", "risk"):
        return as_measure("RR@10")  # the target names its own
    try:
        return as_measure(certificate.measure)
    except InputError:
        raise InputError(
            f"the certificate's measure '{certificate.measure}' is a function of yours: "
            "give it in Python, with measure="
        ) from None
