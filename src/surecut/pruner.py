"""The certificate at work: one query's retriever scores in, how many to keep out.

This is what serving imports: numpy and one kernel, nothing that only calibration needs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from surecut.arrays import Float32, Float64, Int64
from surecut.errors import InputError
from surecut.kernels.keys import count_kept, count_kept_batch, fill_keys
from surecut.measures import NO_CUTOFF
from surecut.ordering import as_float32
from surecut.rules import KEEP_EVERYTHING, Rule
from surecut.scale import Scale

_UNSORTED, _NOT_FINITE = -1, -2


@dataclass(frozen=True)
class Pruner:
    """Keeps the candidates whose key reaches the threshold, at least `min_keep`, at most `max_keep`."""

    rule: Rule
    threshold: float
    min_keep: int = 1
    max_keep: int | None = None
    longest: int | None = None  # lists longer than any calibrated on are refused
    shortest: int | None = None  # and shorter ones, where keys depend on the whole list
    scale: Scale | None = None  # and scores that cannot be the retriever's

    @cached_property
    def _settings(self) -> tuple[int, float, float, float, int, int]:
        """What the kernel needs beside the scores."""
        longest = NO_CUTOFF if self.max_keep is None else self.max_keep
        return self.rule.code, self.rule.scale, self.rule.prior, self.threshold, self.min_keep, longest

    def keep(self, scores: Any, offsets: Any = None, *, any_length: bool = False, any_system: bool = False) -> Any:
        """How many to keep of one query's descending scores, or of each query's with `offsets`."""
        flat = as_float32(scores)
        if flat.ndim != 1:
            raise InputError(f"scores must be flat (with offsets= for a batch), not {flat.ndim}-dimensional")
        if offsets is not None:
            return self._keep_batch(flat, offsets, any_length, any_system)
        if not any_length:
            self._check_length(flat.size, flat.size)
        kept = count_kept(flat, *self._settings)
        if kept < 0:
            raise InputError(_complaint(kept, "these scores"))
        if flat.size and self.scale is not None and not any_system:
            self.scale.refuse_list(float(flat[0]), float(flat[-1]))
        return int(kept)

    def survivors(
        self, scores: Any, ids: Sequence[str] | None = None, *, any_length: bool = False, any_system: bool = False
    ) -> Int64:
        """Positions that survive, best first, of one query's scores in any order.

        Equal scores go by document id descending where `ids` are given, else by the order given: give the
        ids whenever the calibration data had them.
        """
        order, kept = self.ranked(scores, ids, any_length=any_length, any_system=any_system)
        return order[:kept]

    def ranked(
        self, scores: Any, ids: Sequence[str] | None = None, *, any_length: bool = False, any_system: bool = False
    ) -> tuple[Int64, int]:
        """All positions, best first, and how many of the first survive."""
        flat = as_float32(scores)
        if flat.ndim != 1:
            raise InputError(f"scores must be flat, not {flat.ndim}-dimensional")
        if np.isnan(flat).any():
            raise InputError(_complaint(_NOT_FINITE, "these scores"))
        order = np.argsort(-flat, kind="stable")
        if ids is not None:
            if len(ids) != flat.size:
                raise InputError(f"{len(ids)} ids for {flat.size} scores")
            order = _by_score_then_id(flat, order, ids)
        return order, self.keep(flat[order], any_length=any_length, any_system=any_system)

    def _keep_batch(self, flat: Float32, offsets: Any, any_length: bool, any_system: bool) -> Int64:
        bounds = np.ascontiguousarray(offsets, dtype=np.int64)
        lengths = np.diff(bounds) if bounds.ndim == 1 else bounds
        if bounds.ndim != 1 or bounds.size < 1 or bounds[0] != 0 or bounds[-1] != flat.size or np.any(lengths < 0):
            raise InputError(f"offsets must rise from 0 to the number of scores, {flat.size:,}")
        if not any_length and flat.size:
            self._check_length(int(lengths[lengths > 0].min()), int(lengths.max()))
        kept: Int64 = count_kept_batch(flat, bounds, *self._settings)
        if np.any(kept < 0):
            query = int(np.argmin(kept))
            raise InputError(_complaint(int(kept[query]), f"the scores of query {query}"))
        if not any_system:
            filled = lengths > 0
            self.refuse_other_scale(flat[bounds[:-1][filled]], flat[bounds[1:][filled] - 1])
        return kept

    def refuse_other_scale(self, best: Float32, worst: Float32) -> None:
        """Refuse lists whose first and last scores cannot be those of the certificate's retriever."""
        if best.size and self.scale is not None:
            self.scale.refuse_batch(best.astype(np.float64), worst.astype(np.float64))

    def keys(self, scores: Any) -> Float64:
        """The key of each of one query's descending scores."""
        flat = as_float32(scores)
        filled = np.empty(flat.size)
        fill_keys(flat, np.array([0, flat.size]), self.rule.code, self.rule.scale, self.rule.prior, filled)
        return filled

    def too_short(self, length: int) -> bool:
        """Is this a list unlike any in calibration, for a rule that looks at whole lists?"""
        looks_at_lists = self.rule.normalises and self.threshold != KEEP_EVERYTHING
        return looks_at_lists and self.shortest is not None and 0 < length < self.shortest

    def _check_length(self, shortest: int, longest: int) -> None:
        if self.longest is not None and longest > self.longest:
            raise InputError(
                f"a list of {longest} candidates: the certificate is for lists of at most {self.longest}; cut the "
                f"lists there first (--depth {self.longest})"
            )
        if self.too_short(shortest):
            raise InputError(
                f"a list of {shortest} candidates: rule '{self.rule.name}' looks at the whole list, and the "
                f"shortest one in calibration had {self.shortest}; present the list the retriever returns, or "
                "allow any length (--any-length, any_length=True)"
            )


def _by_score_then_id(scores: Float32, order: Int64, ids: Sequence[str]) -> Int64:
    if np.all(scores[order[1:]] < scores[order[:-1]]):
        return order
    by_id = sorted(order.tolist(), key=lambda place: str(ids[place]).encode(), reverse=True)
    ranked = np.array(by_id, dtype=np.int64)
    return ranked[np.argsort(-scores[ranked], kind="stable")]


def _complaint(code: int, what: str) -> str:
    if code == _UNSORTED:
        return f"{what} are not in descending order: sort them, or use survivors()"
    return f"{what} hold a value that is nan, infinite or beyond 32-bit floats"
