"""What calibration keeps of a list: the change points of its curve, a digest, and a few numbers for the record."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from surecut.arrays import Bytes, Float32, Int64, Strings, UInt64
from surecut.candidates import Candidates
from surecut.curves import Curves, Tail, change_points
from surecut.fingerprints import combine_digests, query_digests
from surecut.fusion import final_scores
from surecut.measures import NO_CUTOFF, AnyMeasure
from surecut.preregistered import order_hashes
from surecut.rules import Rule

_TOP = 10  # of the final list, where a measure has no cutoff of its own


@dataclass(frozen=True, eq=False)
class Reduced:
    """Some queries, reduced; those of several pieces can be put together."""

    curves: Curves  # of the measure, one a query
    digests: Bytes
    order: UInt64  # a hash of each query's unit: units are tested in its order
    best: Float32  # the retriever's score of the first candidate, of queries that have one
    lowest: float  # of all its scores
    highest: float
    top: int  # k of the final top k whose judgements are counted
    top_of_all: int  # candidates in the final top k of judged queries
    top_judged: int
    filled: int  # candidates without a reranker score, placed last on request

    @classmethod
    def joined(cls, parts: Iterable["Reduced"]) -> "Reduced":
        """Pieces in the order of their queries."""
        several = list(parts)
        return cls(
            curves=Curves.joined([part.curves for part in several]),
            digests=np.concatenate([part.digests for part in several]),
            order=np.concatenate([part.order for part in several]),
            best=np.concatenate([part.best for part in several]),
            lowest=min(part.lowest for part in several),
            highest=max(part.highest for part in several),
            top=several[0].top,
            top_of_all=sum(part.top_of_all for part in several),
            top_judged=sum(part.top_judged for part in several),
            filled=sum(part.filled for part in several),
        )

    def fingerprint(self, query_ids: Strings) -> str:
        """That of the queries, which go by these ids."""
        return combine_digests(query_ids, self.digests)


@dataclass(frozen=True)
class Reduce:
    """Reduces a piece: what is done to every list, once the rule and the fusion weight are known."""

    rule: Rule
    beta: float
    measure: AnyMeasure
    tail: Tail
    min_keep: int
    max_keep: int | None

    def __call__(self, data: Candidates) -> Reduced:
        from surecut.kernels.measures import count_top

        final = final_scores(data, self.beta)
        points = change_points(data, final, self.measure, self.tail, self.min_keep, self.max_keep)
        top = getattr(self.measure, "cutoff", None) or _TOP
        of_all, judged = count_top(final, data.grades, data.judged, data.offsets, top)
        scores = data.retriever
        return Reduced(
            curves=points.keyed(self.rule.keys_at(data, points.rows, points.offsets)),
            digests=query_digests(data),
            order=order_hashes(data.units),
            best=scores[data.offsets[:-1][data.lengths > 0]],
            lowest=float(scores.min(initial=np.inf)),
            highest=float(scores.max(initial=-np.inf)),
            top=top,
            top_of_all=of_all,
            top_judged=judged,
            filled=data.census.filled_reranked,
        )


@dataclass(frozen=True)
class CountKept:
    """How many candidates of each query survive a threshold."""

    rule: Rule
    threshold: float
    min_keep: int
    max_keep: int | None

    def __call__(self, data: Candidates) -> Int64:
        from surecut.kernels.keys import count_kept_batch

        longest = NO_CUTOFF if self.max_keep is None else self.max_keep
        settings = (self.rule.code, self.rule.scale, self.rule.prior, self.threshold, self.min_keep, longest)
        kept: Int64 = count_kept_batch(data.retriever, data.offsets, *settings)
        return kept
