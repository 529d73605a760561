"""An engine: what it can execute, and what is refused because it cannot."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

from surecut.certificate import Certificate
from surecut.errors import InputError
from surecut.export.command import calibrate_command
from surecut.export.cut import Cut, cut_of
from surecut.measures import is_built_in

_SCORES = {
    "cosine": "1 - distance, between -1 and 1",
    "dot": "the inner product",
    "euclid": "minus the distance, at most 0",
}
_RANGES = {"cosine": (-1.0, 1.0), "euclid": (-math.inf, 0.0)}
_ROUNDING = 1e-3  # engines compute in 32 bits
METRICS = tuple(_SCORES)


@dataclass(frozen=True)
class Snippet:
    """What to paste, in the engine's own syntax, and the settings in it that execute the certificate."""

    text: str
    settings: dict[str, Any]

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Engine:
    """What an engine does with documents that are cut off, and how its setting is written.

    A score cut drops what is below it; what lies beyond a window is dropped too or appended, as `beyond` says. An
    engine of which `reranks` is false only hands out the survivors, marked, and leaves the rest to its caller.
    """

    name: str
    sentence: str
    write: Callable[[Cut, Certificate, str | None], Snippet]
    rules: tuple[str, ...] = ("rank", "score")
    beyond: Literal["drop", "append"] = "drop"
    reranks: bool = True
    window_per_shard: bool = False
    metric: Literal["none", "for scores", "always"] = "none"  # where must it be said how vectors are compared?
    gives_negative: bool = True

    def export(self, certificate: Certificate, metric: str | None = None, shards: int | None = None) -> Snippet:
        """The setting that executes the certificate, or the reason why this engine cannot."""
        if metric is not None and self.metric == "none":
            raise InputError(f"{self.name} has no --metric: its scores are compared as they are")
        if metric is not None and metric not in METRICS:
            raise InputError(f"metric '{metric}': known are {', '.join(METRICS)}")
        self._refuse_shards(shards)
        cut = self._executable(certificate)
        self._refuse_scores(certificate, cut, metric)
        return self.write(cut, certificate, metric)

    def _refuse_shards(self, shards: int | None) -> None:
        if shards is not None and not (isinstance(shards, int) and shards >= 1):
            raise InputError(f"shards={shards!r}: a whole number of at least 1 is expected")
        if self.window_per_shard and shards != 1:
            found = "it is not said how many there are" if shards is None else f"there are {shards}"
            raise InputError(
                f"{self.name} applies its window on every shard of the index by itself, and {found}: with one shard "
                "that is what was certified (say --shards 1, shards=1), with more it reranks more candidates than that"
            )

    def _executable(self, certificate: Certificate) -> Cut:
        if self.reranks and self.beyond == "append" and not _grows_with_appending(certificate):
            raise InputError(
                f"{self.name} puts documents below the reranked ones that the certified list does not have: that is no "
                f"loss for the built-in measures, but '{certificate.measure}' is a function of your own, of which "
                "nothing is known; take an engine that drops them"
            )
        cut = cut_of(certificate)
        rule = certificate.rule["name"]
        if cut is None or (cut.least is not None and rule not in self.rules):
            self._refuse(f"executes {_listed(self.rules)} only, and the certificate's rule is '{rule}'", certificate)
        if cut.window == 0:
            raise InputError("the certificate keeps no candidate at all: leave the reranker out")
        if not self.reranks:
            return cut
        beta = float(certificate.fusion["beta"])
        if beta:
            self._refuse(f"orders by the reranker alone, and the certificate fuses scores (beta {beta:g})", certificate)
        scored = cut.least is not None
        if scored and cut.min_keep > 0:
            self._refuse(
                f"may keep nothing by a score cut, and the certificate keeps at least {cut.min_keep}", certificate
            )
        if certificate.tail == "append" and cut.prunes and (scored or self.beyond == "drop"):
            dropped = "is below the score" if scored else "it does not rerank"
            self._refuse(f"drops what {dropped}, and the certificate appends it", certificate)
        return cut

    def _refuse_scores(self, certificate: Certificate, cut: Cut, metric: str | None) -> None:
        """Scores that cannot be this engine's, or cannot come from this comparison of vectors."""
        if metric is None and (self.metric == "always" or (self.metric == "for scores" and cut.least is not None)):
            kinds = "; ".join(f"{name}: scores are {words}" for name, words in _SCORES.items())
            raise InputError(f"{self.name}: say how vectors are compared with --metric (metric=), {kinds}")
        scale = certificate.pruner.scale
        if scale is None:
            return
        found = f"the certificate was calibrated on scores from {scale.lowest:.4g} to {scale.highest:.4g}"
        lowest, highest = _RANGES.get(metric or "", (-math.inf, math.inf))
        if scale.lowest < lowest - _ROUNDING or scale.highest > highest + _ROUNDING:
            raise InputError(
                f"{found}, and with the metric '{metric}' they are {_SCORES[str(metric)]}: say which metric gave them "
                f"(--metric, metric=: {', '.join(METRICS)})"
            )
        if cut.least is not None and self._never_gives(certificate):
            raise InputError(f"{found}, and {self.name} never gives a score below 0: calibrate on its own scores")

    def _never_gives(self, certificate: Certificate) -> bool:
        """Are the certificate's scores below 0, where this engine's never are?"""
        scale = certificate.pruner.scale
        return not self.gives_negative and scale is not None and scale.lowest < 0

    def _refuse(self, reason: str, certificate: Certificate) -> NoReturn:
        useless = {"gap", *(("score",) if self._never_gives(certificate) else ())}
        ways = [
            calibrate_command(certificate, f"{self.name}.json", **self._form(rule))
            for rule in self.rules
            if rule not in useless
        ]
        raise InputError(
            f"{self.name} {reason}; {'either of these makes' if len(ways) > 1 else 'this makes'} one that it can "
            "execute, from the same data read with the same options (--table, --absent, --missing-reranker):",
            ways,
        )

    def _form(self, rule: str) -> dict[str, Any]:
        """How to calibrate for this engine: a window appends, a score cut drops and may keep nothing."""
        if not self.reranks:
            return {"rule": rule}
        if rule == "score":
            return {"rule": rule, "tail": "drop", "min_keep": 0, "fusion": 0.0}
        return {"rule": rule, "tail": self.beyond, "fusion": 0.0}


def _listed(rules: tuple[str, ...]) -> str:
    return " or ".join(f"'{rule}'" for rule in rules)


def _grows_with_appending(certificate: Certificate) -> bool:
    """More documents below the list: no built-in measure can fall, and a top k can only come to agree more."""
    return certificate.target["kind"] != "risk" and is_built_in(certificate.measure)
