"""Coverage on a batch against coverage of the truth: a batch has noise of its own."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

from benchmarks.reproduction.published import CONFIDENCE
from benchmarks.reproduction.rates import Rate
from benchmarks.reproduction.trials import Named
from surecut.candidates import Candidates
from surecut.targets import max_drop
from surecut.trials.methods import Method
from surecut.trials.running import run_trials
from surecut.watching import Watch


@dataclass(frozen=True)
class Seen:
    """Certificates made the same way, seen on the batch of a split, and against the pool they were redrawn from."""

    name: str
    claim: str
    calibration: int
    test: int
    batch: Rate
    truth: Rate
    abstained: float  # share of the trials, on the split


def expected_on_batch(calibration: int, test: int, confidence: float = CONFIDENCE) -> float:
    """How often a batch meets a certificate that is exactly as tight as it promises: Phi(z sqrt(n' / (n + n')))."""
    normal = NormalDist()
    return normal.cdf(normal.inv_cdf(confidence) * math.sqrt(test / (calibration + test)))


def batches(
    name: str, data: Candidates, drops: Sequence[float], calibration: int, trials: int, watch: Watch
) -> list[Seen]:
    """Many trials of drop claims, with the certified test and with the normal approximation."""
    test = len(data) - calibration
    tests = ("hedge", "clt")
    methods = [
        Method(f"{each}, drop {100 * drop:g}%", options={"target": max_drop(drop), "test": each})
        for drop in drops
        for each in tests
    ]
    found = run_trials(
        data,
        methods,
        trials=trials,
        calibration=calibration,
        test=test,
        confidence=CONFIDENCE,
        watch=Named(watch, "batch and truth"),
    )
    return [
        Seen(
            name,
            method.name,
            calibration,
            test,
            Rate(sum(each.holds_on_batch for each in outcomes), trials),
            Rate(sum(each.holds for each in outcomes), trials),
            summary.abstained,
        )
        for method, outcomes, summary in zip(methods, found.blocks[0].outcomes, found.blocks[0].methods, strict=True)
    ]
