"""Everything the page is made of, computed in one go; each pool is simulated, used and let go."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.reproduction.measuring import Behaviour, behaviour, curves_of, fitted_rule
from benchmarks.reproduction.published import DEPTH, ROWS, TRIALS, Row
from benchmarks.reproduction.published import row as row_of
from benchmarks.reproduction.real import TABLES, Real, fused_table, real
from benchmarks.reproduction.sweeps import RiskCurve, TargetPoint, risk_curve, target_sweep
from benchmarks.reproduction.systems import SEED, pool, pool_size
from benchmarks.reproduction.trials import SMALL_DROP, calibration_size, row_trials, same_loss, seed_of
from benchmarks.reproduction.wrong.batches import Seen, batches
from benchmarks.reproduction.wrong.corrections import SIZES as CORRECTED_SIZES
from benchmarks.reproduction.wrong.corrections import Corrected, corrections
from benchmarks.reproduction.wrong.monotonicity import Monotonicity, monotonicity
from benchmarks.reproduction.wrong.printed_bound import (
    MEASURED,
    FalseRejections,
    false_rejections,
    zeros_and_ones,
)
from benchmarks.reproduction.wrong.printed_bound import SIZES as PRINTED_SIZES
from surecut.arrays import Float64
from surecut.candidates import Candidates
from surecut.curves import Curves
from surecut.simulation import simulate
from surecut.targets import at_least
from surecut.trials.outcome import Trials
from surecut.watching import Watch

RISK_ROW = row_of("Quora", "DPR", "MonoELECTRA")  # of figure 2
SWEEP_ROW = row_of("MARCO", "DPR", "MonoELECTRA")  # of figures 3 and 4
TARGETS = (  # from easy to out of reach, where the corrections begin in smaller steps
    *(round(0.30 + 0.005 * i, 4) for i in range(20)),
    *(round(0.40 + 0.0025 * i, 4) for i in range(13)),
)
REAL_EXAMPLE = TABLES[0]
LURED = "lured"
LURED_NAME = "simulated, lured"


@dataclass(frozen=True)
class Scale:
    """How much is done; the page is made at full scale."""

    trials: int = TRIALS
    rejections: int = 10_000
    corrections: int = 1000
    batches: int = 2000
    queries: int | None = None  # None: as many as the paper merges
    depth: int = DEPTH
    rows: Sequence[Row] = ROWS
    tables: Sequence[str] = TABLES
    targets: Sequence[float] = TARGETS
    printed_sizes: Sequence[int] = PRINTED_SIZES
    corrected_sizes: Sequence[int] = CORRECTED_SIZES

    def pool(self, of: Row) -> Candidates:
        return pool(of, self.queries, self.depth)


@dataclass(frozen=True)
class Simulated:
    """One of the twelve."""

    row: Row
    behaviour: Behaviour
    trials: Trials


@dataclass(frozen=True)
class Findings:
    """All of it."""

    simulated: Sequence[Simulated]
    real: Sequence[Real]
    risk: RiskCurve
    sweep: Sequence[TargetPoint]
    monotone: Sequence[Monotonicity]
    printed: Sequence[FalseRejections]
    corrections: Sequence[Corrected]
    batches: Sequence[Seen]


def find(scale: Scale, watch: Watch) -> Findings:
    """Run everything."""
    simulated, monotone = [], []
    for row in scale.rows:
        data = scale.pool(row)
        trials = row_trials(row, data, scale.trials, watch)
        simulated.append(Simulated(row, behaviour(data, row.target), trials))
        monotone.append(monotonicity(f"simulated {row.full_name}", data))
    found = [real(name, scale.trials, watch) for name in scale.tables]
    lured = simulate(LURED, scale.queries or pool_size(SWEEP_ROW), scale.depth, SEED)
    monotone.append(monotonicity(LURED_NAME, lured))
    for name in scale.tables:
        rest, weight = fused_table(name)
        monotone.append(monotonicity(name, rest, beta=weight, real=True))
    data = scale.pool(SWEEP_ROW)
    populations = _populations(data, lured)
    return Findings(
        simulated=simulated,
        real=found,
        risk=_risk(scale),
        sweep=target_sweep(data, scale.targets, _calibration(data, SWEEP_ROW), scale.trials, seed_of(SWEEP_ROW), watch),
        monotone=monotone,
        printed=false_rejections(_samples(populations), scale.printed_sizes, scale.rejections, watch),
        corrections=corrections(populations, scale.corrected_sizes, scale.corrections, watch),
        batches=_batches(data, scale, watch),
    )


def _risk(scale: Scale) -> RiskCurve:
    data = scale.pool(RISK_ROW)
    return risk_curve(data, RISK_ROW.target, _calibration(data, RISK_ROW), seed_of(RISK_ROW))


def _batches(data: Candidates, scale: Scale, watch: Watch) -> list[Seen]:
    drops = (same_loss(SWEEP_ROW.target, SWEEP_ROW.reranked), SMALL_DROP)
    name = f"simulated {SWEEP_ROW.full_name}"
    return batches(name, data, drops, _calibration(data, SWEEP_ROW), scale.batches, watch)


def _calibration(data: Candidates, row: Row) -> int:
    return calibration_size(len(data), row.collection)


def _populations(data: Candidates, lured: Candidates) -> dict[str, Curves]:
    """1 - RR@10 at every threshold of the paper's key: an ordinary system, one far from monotone, a real one."""
    rest, weight = fused_table(REAL_EXAMPLE)
    systems = {
        f"simulated {SWEEP_ROW.full_name}": (data, 0.0),
        LURED_NAME: (lured, 0.0),
        f"{REAL_EXAMPLE} (real)": (rest, weight),
    }
    return {
        name: at_least(0.5).losses(curves_of(each, fitted_rule(each), beta))  # the loss is the same for every value
        for name, (each, beta) in systems.items()
    }


def _samples(populations: dict[str, Curves]) -> dict[str, Float64]:
    """Losses to test: 0 or 1, evenly spread, and 1 - RR@10 with everything reranked."""
    even = (np.arange(1000) + 0.5) / 1000
    made = {f"0 or 1, {share:.0%} ones": zeros_and_ones(share) for share in (0.05, 0.3)} | {"evenly spread": even}
    return made | {f"{MEASURED}, {name}": losses.start for name, losses in populations.items()}
