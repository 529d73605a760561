"""Everything the page is made of, computed in one go; each pool is simulated, used and let go."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.reproduction.measuring import Behaviour, behaviour, curves_of, fitted_rule
from benchmarks.reproduction.published import DEPTH, ROWS, TRIALS, Row, row
from benchmarks.reproduction.real import TABLES, Real, real
from benchmarks.reproduction.sweeps import RiskCurve, TargetPoint, risk_curve, target_sweep
from benchmarks.reproduction.systems import SEED, pool
from benchmarks.reproduction.trials import SMALL_DROP, calibration_size, row_trials, same_loss
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
from surecut.io.shipped import PREFIX
from surecut.io.table import read_table
from surecut.simulation import simulate
from surecut.targets import at_least
from surecut.trials.outcome import Trials
from surecut.watching import Watch

RISK_ROW = row("Quora", "DPR", "MonoELECTRA")  # of figure 2
SWEEP_ROW = row("MARCO", "DPR", "MonoELECTRA")  # of figures 3 and 4
TARGETS = (  # from easy to out of reach, where the corrections begin in smaller steps
    *(round(0.30 + 0.005 * i, 4) for i in range(20)),
    *(round(0.40 + 0.0025 * i, 4) for i in range(13)),
)
REAL_EXAMPLE = TABLES[0]
LURED = "lured"


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
    for each in scale.rows:
        data = scale.pool(each)
        trials = row_trials(each, data, scale.trials, watch)
        simulated.append(Simulated(each, behaviour(data, each.target), trials))
        monotone.append(monotonicity(f"simulated {each.full_name}", data))
    lured = simulate(LURED, scale.queries or len(data), scale.depth, SEED)
    monotone.append(monotonicity("simulated, lured", lured))
    found = [real(name, scale.trials, watch) for name in scale.tables]
    for each in found:
        monotone.append(monotonicity(each.name, read_table(PREFIX + each.name), each.weight, real=True))
    data = scale.pool(SWEEP_ROW)
    calibration = calibration_size(len(data), SWEEP_ROW.collection)
    drops = (same_loss(SWEEP_ROW.target, SWEEP_ROW.reranked), SMALL_DROP)
    populations = _populations(data, lured)
    risky = scale.pool(RISK_ROW)
    return Findings(
        simulated=simulated,
        real=found,
        risk=risk_curve(risky, RISK_ROW.target, calibration_size(len(risky), RISK_ROW.collection)),
        sweep=target_sweep(data, scale.targets, calibration, scale.trials, watch),
        monotone=monotone,
        printed=false_rejections(_samples(populations), scale.printed_sizes, scale.rejections, watch),
        corrections=corrections(populations, scale.corrected_sizes, scale.corrections, watch),
        batches=batches(f"simulated {SWEEP_ROW.full_name}", data, drops, calibration, scale.batches, watch),
    )


def _populations(data: Candidates, lured: Candidates) -> dict[str, Curves]:
    """1 - RR@10 at every threshold of the paper's key: an ordinary system, one far from monotone, a real one."""
    systems = {
        f"simulated {SWEEP_ROW.full_name}": data,
        "simulated, lured": lured,
        f"{REAL_EXAMPLE} (real)": read_table(PREFIX + REAL_EXAMPLE),
    }
    return {
        name: at_least(0.5).losses(curves_of(each, fitted_rule(each)))  # the loss is the same for every value
        for name, each in systems.items()
    }


def _samples(populations: dict[str, Curves]) -> dict[str, Float64]:
    """Losses to test: 0 or 1, evenly spread, and 1 - RR@10 with everything reranked."""
    even = (np.arange(1000) + 0.5) / 1000
    made = {f"0 or 1, {share:.0%} ones": zeros_and_ones(share) for share in (0.05, 0.3)} | {"evenly spread": even}
    return made | {f"{MEASURED}, {name}": losses.start for name, losses in populations.items()}
