"""What every integration shares: a certificate between the two stages of somebody else's pipeline.

Nothing passes in silence. A list that the certificate does not know (no scores, another length, another scale,
another system) is an error, and so is a certificate whose final list the pipeline would not make.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from surecut.arrays import Float32, Float64, Int64
from surecut.certificate import Certificate, load_certificate, refuse_other_system
from surecut.errors import InputError
from surecut.finishing import Placed, final_list
from surecut.ordering import as_float32
from surecut.scale import ENOUGH_LISTS

Item = TypeVar("Item")


@dataclass(frozen=True, eq=False)
class Pruned:
    """One query's candidates: their positions in retriever order, of which the first `kept` survive."""

    order: Int64
    kept: int
    scores: Float32  # in that order

    @property
    def survivors(self) -> list[int]:
        """Positions to rerank, best first."""
        return [int(place) for place in self.order[: self.kept]]


class Stage:
    """A certificate with what a pipeline knows of itself.

    `finishes` says that the integration makes the final list as well: only then can it execute a certificate that
    appends the pruned documents or fuses the scores of both stages.
    """

    def __init__(
        self,
        certificate: Certificate | str | Path,
        *,
        finishes: bool,
        system: Mapping[str, str] | None = None,
        any_system: bool = False,
        any_length: bool = False,
    ) -> None:
        self.certificate = certificate if isinstance(certificate, Certificate) else load_certificate(certificate)
        self.any_system, self.any_length = any_system, any_length
        self._unusual: tuple[float, ...] | None = ()  # best scores of the first lists; None once one was usual
        refuse_other_system(self.certificate, system or {}, any_system)
        if not finishes:
            refuse_unfinished(self.certificate)

    def prune(self, scores: Any, ids: Sequence[Any] | None = None, where: str = "in scores=") -> Pruned:
        """One query's candidates, in any order: which of them survive. `where` says where scores are looked up."""
        names = None if ids is None else [str(each) for each in ids]
        flat = as_float32(_numbers(scores, names, where))
        if names is not None and len(set(names)) < len(names):
            twice = next(name for place, name in enumerate(names) if name in names[:place])
            raise InputError(f"document '{twice}' is twice in one list: keep one of them")
        allowed = {"any_length": self.any_length, "any_system": self.any_system}
        order, kept = self.certificate.pruner.ranked(flat, names, **allowed)
        if order.size:
            self._refuse_unusual(float(flat[order[0]]))
        return Pruned(order, kept, flat[order])

    def finish(self, pruned: Pruned, reranked: Sequence[float] | Float64) -> list[Placed]:
        """The final list, by positions in the list that was pruned; `reranked` are the survivors' scores."""
        second = np.asarray(reranked, dtype=np.float64)
        if second.shape != (pruned.kept,):
            raise InputError(f"{second.size} reranker scores for {pruned.kept} survivors: one each is expected")
        if not np.isfinite(second).all():
            raise InputError("a reranker score is not a finite number")
        placed = final_list(self.certificate, pruned.scores, second)
        return [Placed(int(pruned.order[each.place]), each.reranker, each.score) for each in placed]

    def _refuse_unusual(self, best: float) -> None:
        """A wrong scale shows at the start: of the first lists, one must have a usual best score."""
        scale, seen = self.certificate.pruner.scale, self._unusual
        if seen is None or scale is None or self.any_system:
            return
        if scale.usual(np.array([best]))[0]:
            self._unusual = None
            return
        if best not in seen:  # threads may share this: the tuple is replaced, never changed
            self._unusual = seen = (*seen[: ENOUGH_LISTS - 1], best)
        scale.refuse_lists(np.array(seen))


class ListStage(Stage, Generic[Item]):
    """Lists of a library's own documents: `score` and `name` read one of them."""

    def __init__(
        self,
        certificate: Certificate | str | Path,
        score: Callable[[Item], Any],
        name: Callable[[Item], str | None],
        where: str,
        **options: Any,
    ) -> None:
        super().__init__(certificate, finishes=False, **options)
        self._score, self._name, self._where = score, name, where

    def keep(self, items: Sequence[Item]) -> list[Item]:
        """The survivors themselves, untouched, in the order given."""
        names = [self._name(item) for item in items]
        scores = _numbers([self._score(item) for item in items], names, self._where)
        refuse_rising(scores)
        pruned = self.prune(scores, None if None in names else names, self._where)
        return [items[place] for place in sorted(pruned.survivors)]


def _numbers(scores: Any, names: Sequence[str | None] | None, where: str) -> Float64:
    """First-stage scores, or the sentence that says which document has none."""
    if names is not None and len(scores) != len(names):
        raise InputError(f"{len(scores)} first-stage scores for {len(names)} documents: one each is expected")
    try:
        numbers = np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.array([_number(each) for each in scores])
    if numbers.ndim == 1 and not np.isfinite(numbers).all():
        place = int(np.argmin(np.isfinite(numbers)))
        called = "" if names is None or names[place] is None else f" ('{names[place]}')"
        raise InputError(
            f"document {place}{called} has no first-stage score but {scores[place]!r}: the certificate needs the "
            f"retriever's score of every document, {where}"
        )
    return numbers


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")


def refuse_rising(scores: Float64) -> None:
    """A list that comes best first with the lowest score first holds distances."""
    if scores.size > 2 and scores[0] < scores[-1] and bool(np.all(np.diff(scores) >= 0)):
        raise InputError(
            f"scores rise down the list, from {scores[0]:.4g} to {scores[-1]:.4g}, as distances do: a certificate "
            "needs scores that are higher for better documents, such as the distances with a minus sign"
        )


def refuse_unfinished(certificate: Certificate) -> None:
    """Where the next component makes the final list, it is the survivors by the reranker's scores alone."""
    beta = float(certificate.fusion["beta"])
    if beta:
        raise InputError(
            f"the certificate orders the final list by {beta:g} x retriever + {1 - beta:g} x reranker, and this "
            "pipeline by the reranker alone: calibrate with --fusion 0 (fusion=0)"
        )
    if certificate.tail == "append":
        raise InputError(
            "the certificate appends pruned documents to the final list, and this pipeline drops them: calibrate with "
            "--tail drop (tail='drop')"
        )
