"""An engine: what it can execute, and what is refused because it cannot."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from surecut.certificate import Certificate
from surecut.errors import InputError
from surecut.export.command import calibrate_command
from surecut.export.cut import Cut, cut_of
from surecut.measures import is_built_in

METRICS = ("cosine", "dot", "euclid")
_ROUNDING = 1e-3


@dataclass(frozen=True)
class Snippet:
    """What to paste, in the engine's own syntax, and the settings in it that execute the certificate."""

    text: str
    settings: dict[str, Any]


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
    has_metrics: bool = False
    usual_metric: str | None = None

    def export(self, certificate: Certificate, metric: str | None = None, shards: int | None = None) -> Snippet:
        """The setting that executes the certificate, or the reason why this engine cannot."""
        if metric is not None and not self.has_metrics:
            raise InputError(f"{self.name} has no --metric: its scores are compared as they are")
        if metric is not None and metric not in METRICS:
            raise InputError(f"metric '{metric}': known are {', '.join(METRICS)}")
        cut = self._executable(certificate)
        metric = metric or self.usual_metric
        if cut.least is not None and not cut.from_best:
            _refuse_scores(certificate, metric)
        if self.window_per_shard and shards != 1:
            found = "it is not said how many there are" if shards is None else f"there are {shards}"
            raise InputError(
                f"{self.name} applies its window on every shard of the index by itself, and {found}: with one shard "
                "that is what was certified (say --shards 1), with more it reranks more candidates than that"
            )
        return self.write(cut, certificate, metric)

    def _executable(self, certificate: Certificate) -> Cut:
        cut = cut_of(certificate)
        rule = certificate.rule["name"]
        if cut is None or (cut.prunes and rule not in self.rules):
            self._refuse(f"executes {_listed(self.rules)} only, and the certificate's rule is '{rule}'", certificate)
        assert cut is not None
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
            self._refuse("drops what it does not rerank, and the certificate appends it", certificate)
        if self.beyond == "append" and not _grows_with_appending(certificate):
            raise InputError(
                f"{self.name} appends what it does not rerank, and the certificate does not: that is no loss for the "
                f"built-in measures, but '{certificate.measure}' is a function of your own, of which nothing is known"
            )
        return cut

    def _refuse(self, reason: str, certificate: Certificate) -> None:
        ways = [calibrate_command(certificate, **self._form(rule)) for rule in self.rules if rule != "gap"]
        raise InputError(f"{self.name} {reason}; one that it can execute comes from: {' or '.join(ways)}")

    def _form(self, rule: str) -> dict[str, Any]:
        """How to calibrate for this engine: a window appends, a score cut drops and may keep nothing."""
        if not self.reranks:
            return {"rule": rule}
        if rule == "score":
            return {"rule": rule, "tail": "drop", "min_keep": 0, "fusion": 0.0}
        return {"rule": rule, "tail": self.beyond, "fusion": 0.0}


def _refuse_scores(certificate: Certificate, metric: str | None) -> None:
    """Scores that cannot come from this comparison of vectors."""
    scale = certificate.pruner.scale
    highest = {"cosine": 1.0, "euclid": 0.0}.get(metric or "")
    if scale is not None and highest is not None and scale.highest > highest + _ROUNDING:
        kind = "1 - distance" if metric == "cosine" else "minus the distance"
        raise InputError(
            f"the certificate was calibrated on scores of up to {scale.highest:.4g}, and with --metric {metric} they "
            f"are {kind}, at most {highest:g}: name the metric that gave them ({', '.join(METRICS)})"
        )


def _listed(rules: tuple[str, ...]) -> str:
    return " or ".join(f"'{rule}'" for rule in rules)


def _grows_with_appending(certificate: Certificate) -> bool:
    """More documents below the list: no built-in measure can fall, and a top k can only come to agree more."""
    return certificate.target["kind"] != "risk" and is_built_in(certificate.measure)
