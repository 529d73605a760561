"""Table 3 again: the paper's protocol on a pool, its three methods and surecut side by side on the same draws."""

import math
from collections.abc import Sequence
from typing import Any

from benchmarks.reproduction.measuring import fitted_rule
from benchmarks.reproduction.published import CALIBRATION, CONFIDENCE, ROWS, TEST, Row
from surecut.candidates import Candidates
from surecut.targets import at_least, max_drop
from surecut.trials.methods import Method
from surecut.trials.outcome import Summary, Trials
from surecut.trials.running import run_trials
from surecut.watching import Watch

SMALL_DROP = 0.02
AT_LEAST = "surecut"


class Named(Watch):
    """Passes on what it hears, with what it is about."""

    def __init__(self, watch: Watch, about: str) -> None:
        self._watch, self._about = watch, about

    def stage(self, what: str, total: int | None = None, done: int = 0) -> None:
        self._watch.stage(f"{self._about}: {what}", total, done)

    def advance(self, units: int, pairs: int = 0) -> None:
        self._watch.advance(units, pairs)


def same_loss(target: float, reranked: float) -> float:
    """The drop from the full measure to the target, rounded down to a tenth of a percent."""
    return math.floor(round((1 - target / reranked) * 1000, 6)) / 1000


def methods_for(data: Candidates, drops: Sequence[float]) -> list[Method]:
    """The paper's three, surecut with the same target, and surecut with drop claims.

    EST uses the paper's key. Its temperature is fitted once, on the whole pool: a fit on each calibration sample of
    thousands differs in the third digit, and EST promises nothing that could be spoilt by it.
    """
    return [
        Method("CEC", options={"procedure": "paper"}),
        Method("EST", options={"procedure": "est", "rule": fitted_rule(data)}),
        Method("ERT", options={"procedure": "ert"}),
        Method(AT_LEAST),
        *(Method(drop_name(drop), options={"target": max_drop(drop)}) for drop in drops),
    ]


def drop_name(drop: float) -> str:
    return f"surecut, drop {100 * drop:g}%"


def table_3(
    data: Candidates, target: float, drops: Sequence[float], collection: str, beta: float = 0.0, **running: Any
) -> Trials:
    """Trials in which calibration and test batch share the pool as in the paper's trials on that collection."""
    calibration = calibration_size(len(data), collection)
    return run_trials(
        data,
        methods_for(data, drops),
        calibration=calibration,
        test=len(data) - calibration,
        target=at_least(target),
        confidence=CONFIDENCE,
        fusion=beta,
        **running,
    )


def calibration_size(queries: int, collection: str) -> int:
    """The share of a pool that calibrates in the paper's trials on a collection: 5,000 if it is as large as theirs."""
    return round(queries * CALIBRATION / (CALIBRATION + TEST[collection]))


def row_trials(row: Row, data: Candidates, trials: int, watch: Watch) -> Trials:
    """The trials of one of the paper's systems; every system has draws of its own."""
    drops = (same_loss(row.target, row.reranked), SMALL_DROP)
    running = {"trials": trials, "seed": seed_of(row), "watch": Named(watch, row.full_name)}
    return table_3(data, row.target, drops, row.collection, **running)


def seed_of(row: Row) -> int:
    """Of a system's draws, wherever they are made."""
    return ROWS.index(row)


def summaries(trials: Trials) -> dict[str, Summary]:
    """Each method's line, by name."""
    return {each.method: each for each in trials.blocks[0].methods}
