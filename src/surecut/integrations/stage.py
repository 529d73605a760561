"""What every integration shares: a certificate between the two stages of somebody else's pipeline.

A list that cannot be the certificate's (no scores, another length, another scale, another system) is an error, and so
is a certificate whose final list the pipeline would not make. A wrong scale that lies within the right one shows after
a few lists.
"""

import json
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from surecut.arrays import Float32, Float64, Int64
from surecut.certificate import (
    Certificate,
    load_certificate,
    parse_certificate,
    refuse_other_system,
    same_retriever,
)
from surecut.errors import InputError
from surecut.finishing import Placed, final_list
from surecut.ordering import as_float32
from surecut.rules import KEEP_EVERYTHING
from surecut.scale import ENOUGH_LISTS

Item = TypeVar("Item")
Given = Certificate | str | Path | Mapping[str, Any]
"""A certificate, the path of its file, or what its file holds."""

_STAGES = ("retriever", "reranker", "documents", "queries")


@dataclass(frozen=True, eq=False)
class Pruned:
    """One query's candidates: their positions in retriever order, of which the first `kept` survive."""

    order: Int64
    kept: int
    scores: Float32  # in that order

    @property
    def survivors(self) -> list[int]:
        """Positions to rerank, best first."""
        places: list[int] = self.order[: self.kept].tolist()
        return places


class Stage:
    """A certificate with what a pipeline knows of itself.

    `finishes` says that the integration makes the final list as well: only then can it execute a certificate that
    appends the pruned documents or fuses the scores of both stages.
    """

    def __init__(
        self,
        certificate: Given,
        *,
        finishes: bool,
        system: Mapping[str, str] | None = None,
        any_system: bool = False,
        any_length: bool = False,
    ) -> None:
        self.certificate = as_certificate(certificate)
        self.any_length, self._any_system = any_length, any_system
        self._unusual: tuple[tuple[float, int], ...] | None = ()  # best scores so far; None once one was usual
        if system is not None and not isinstance(system, Mapping):
            raise InputError(f"system= is a mapping of {', '.join(_STAGES)} to fingerprints, not {system!r}")
        named = dict(system or {})
        if not named.keys() <= set(_STAGES):
            odd = next(name for name in named if name not in _STAGES)
            raise InputError(f"system= names '{odd}': known are {', '.join(_STAGES)}")
        refuse_other_system(self.certificate, named, any_system)
        if any_system or same_retriever(self.certificate, named):
            self._unusual = None
        if not finishes:
            refuse_unfinished(self.certificate)
        if self.certificate.status == "uncertified":
            warnings.warn(f"an uncertified certificate is applied: {self.certificate.statement}", stacklevel=4)

    def prune(
        self,
        scores: Any,
        ids: Sequence[Any] | None = None,
        where: str = "in scores=",
        *,
        documents: int | None = None,
        ordered: bool = True,
    ) -> Pruned:
        """One query's candidates: which of them survive. `where` says where scores are looked up.

        `documents` is their number, where they came apart from their scores. Scores may come in any order but worst
        first, unless `ordered` says that their order means nothing.
        """
        names = None if ids is None else _names(ids)
        flat = as_float32(_numbers(scores, names, where, documents))
        if ordered:
            refuse_rising(flat)
        pruner, length = self.certificate.pruner, flat.size
        order, kept = pruner.ranked(flat, names, any_length=self.any_length, any_system=self._any_system)
        falling = flat[order]
        if length:
            self._refuse_cut_short(kept, length)
            self._refuse_unusual(falling)
        return Pruned(order, kept, falling)

    def finish(self, pruned: Pruned, reranked: Sequence[float] | Float64) -> list[Placed]:
        """The final list, by positions in the list that was pruned; `reranked` are the survivors' scores."""
        second = np.asarray(reranked, dtype=np.float64)
        if second.shape != (pruned.kept,):
            raise InputError(f"{second.size} reranker scores for {pruned.kept} survivors: one each is expected")
        if not np.isfinite(second).all():
            raise InputError("a reranker score is not a finite number")
        placed = final_list(self.certificate, pruned.scores, second)
        return [Placed(int(pruned.order[each.place]), each.reranker, each.score) for each in placed]

    def _refuse_cut_short(self, kept: int, length: int) -> None:
        """A list that ends before the cut does, and before any in calibration did, may lack survivors."""
        certificate, shortest = self.certificate, int(self.certificate.calibration["shortest_list"])
        if self.any_length or certificate.threshold == KEEP_EVERYTHING or length >= shortest:
            return
        if kept == length < certificate.most_kept:
            raise InputError(
                f"a list of {length} candidates, all of which survive, where the shortest one in calibration had "
                f"{shortest}: more might have survived; let the retriever return {certificate.depth}, or allow any "
                "length (any_length=True)"
            )

    def _refuse_unusual(self, scores: Float32) -> None:
        """A wrong scale shows at the start: of the first lists, one must have a usual best score.

        The same list again says nothing new.
        """
        scale, seen = self.certificate.pruner.scale, self._unusual
        if seen is None or scale is None:
            return
        if scale.usual(scores[:1].astype(np.float64))[0]:
            self._unusual = None
            return
        marked = float(scores[0]), hash(scores.tobytes())
        if marked not in seen:  # threads may share this: the tuple is replaced, never changed
            self._unusual = seen = (*seen[: ENOUGH_LISTS - 1], marked)
        scale.refuse_lists(np.array([best for best, _ in seen]))


class ListStage(Stage, Generic[Item]):
    """Lists of a library's own documents: `score` and `name` read one of them."""

    def __init__(
        self,
        certificate: Given,
        score: Callable[[Item], Any],
        name: Callable[[Item], str | None],
        where: str,
        **options: Any,
    ) -> None:
        super().__init__(certificate, finishes=False, **options)
        self._score, self._name, self._where = score, name, where

    def keep(self, items: Iterable[Item]) -> list[Item]:
        """The survivors themselves, untouched, in the order given."""
        given = list(items)
        pruned = self.prune(
            [self._score(item) for item in given], ids_or_none([self._name(item) for item in given]), self._where
        )
        return [given[place] for place in sorted(pruned.survivors)]


def as_certificate(given: Given) -> Certificate:
    """A certificate as such, from its file, or from what its file holds."""
    if isinstance(given, Certificate):
        return given
    if isinstance(given, Mapping):
        return parse_certificate(json.dumps(dict(given)), "the certificate's record")
    if not isinstance(given, str | Path):
        raise InputError(f"a certificate or the path of one is expected, not {given!r}")
    return load_certificate(given)


def as_record(given: Given) -> str | dict[str, Any]:
    """What a pipeline's file holds of it: a path as it is, anything else with all it says and its digest."""
    if isinstance(given, str | Path):
        return str(given)
    record: dict[str, Any] = json.loads(as_certificate(given).to_json())
    return record


def name_in(metadata: Mapping[str, Any], key: str) -> str:
    """The id of a document that keeps it in its metadata."""
    if metadata.get(key) is None:
        raise InputError(f"a document has no {key!r} in its metadata, where id_key says its id is")
    return str(metadata[key])


def ids_or_none(names: Sequence[Any]) -> Sequence[Any] | None:
    """The ids of documents that have some; a library whose documents may have none gives None for each."""
    return None if all(name is None for name in names) else names


def _names(ids: Sequence[Any]) -> list[str]:
    """Document ids, all of them and each once."""
    names = list(ids)
    if set(map(type, ids)) != {str}:
        for place, each in enumerate(ids):
            if each is None or (isinstance(each, float) and each != each):
                raise InputError(f"document {place} has no id: give the ids of all documents, or none")
        names = [str(each) for each in ids]
    if len(set(names)) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise InputError(f"document '{twice}' is twice in one list: keep one of them")
    return names


def _numbers(scores: Any, names: Sequence[str] | None, where: str, documents: int | None) -> Float64:
    """First-stage scores, or the sentence that says which document has none."""
    if isinstance(scores, Mapping | str) or not isinstance(scores, Iterable):
        raise InputError(f"the first-stage scores must be a list of numbers, not {type(scores).__name__}")
    given = scores if isinstance(scores, np.ndarray) else list(scores)
    for what, number in (("documents", documents), ("ids", None if names is None else len(names))):
        if number is not None and len(given) != number:
            raise InputError(f"{len(given)} first-stage scores for {number} {what}: one each is expected")
    numbers = _as_numbers(given)
    finite = np.isfinite(numbers)
    if not finite.all():
        place = int(np.argmin(finite))
        called = "" if names is None else f" ('{names[place]}')"
        found = given[place].item() if isinstance(given[place], np.generic) else given[place]
        raise InputError(
            f"document {place}{called} has no first-stage score but {found!r}: the certificate needs the retriever's "
            f"score of every document, {where}"
        )
    return numbers


def refuse_uneven(queries: Sequence[Any], documents: Sequence[Any], scores: Sequence[Any], ids: Sequence[Any]) -> None:
    """Several queries at once need a list of each kind for each."""
    if not len(queries) == len(documents) == len(scores) == len(ids):
        raise InputError(
            f"{len(queries)} queries, {len(documents)} lists of documents, {len(scores)} of scores and {len(ids)} of "
            "ids: one each is expected"
        )


@contextmanager
def of_query(query: Any) -> Iterator[None]:
    """Name the query in what is refused, where there are several."""
    try:
        yield
    except InputError as error:
        raise InputError(f"query '{query}': {error}") from None


def _as_numbers(given: Any) -> Float64:
    """One number each; what is none becomes nan."""
    try:
        numbers = np.asarray(given)
    except (TypeError, ValueError, RuntimeError):
        numbers = np.empty((0, 0))
    if numbers.ndim == 1 and numbers.dtype.kind in "fiub":
        return numbers.astype(np.float64)
    return np.array([_number(each) for each in given])


def _number(value: Any) -> float:
    if isinstance(value, complex):
        return float("nan")
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")


def refuse_rising(scores: Float32) -> None:
    """A list with the lowest score first holds distances."""
    if scores.size > 2 and scores[0] < scores[-1] and bool(np.all(np.diff(scores) >= 0)):
        raise InputError(
            f"scores rise down the list, from {scores[0]:.4g} to {scores[-1]:.4g}, as distances do: a certificate "
            "needs scores that are higher for better documents, such as the distances with a minus sign, best first"
        )


def refuse_unfinished(certificate: Certificate) -> None:
    """Where the next component makes the final list, it is the survivors by the reranker's scores alone."""
    beta = float(certificate.fusion["beta"])
    if beta:
        raise InputError(
            f"the certificate orders the final list by {beta:g} x retriever + {1 - beta:g} x reranker, and this "
            "pipeline by the reranker alone: calibrate with --fusion 0 (fusion=0)"
        )
    if certificate.tail == "append" and certificate.prunes:
        raise InputError(
            "the certificate appends pruned documents to the final list, and this pipeline drops them: calibrate with "
            "--tail drop (tail='drop')"
        )
