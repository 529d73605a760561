"""What `calibrate` would find on a draw, from the curves of the whole pool; and what that means elsewhere."""

from dataclasses import dataclass, replace

from surecut.arrays import Float64, Int64
from surecut.choices import Choices
from surecut.deciding import Decision, decide
from surecut.errors import InputError
from surecut.fitting import Fitted, fit
from surecut.folding import ASIDE, FEWEST, Folds
from surecut.preparing import cuts_any, losses_of
from surecut.trials.drawing import Draw
from surecut.trials.methods import Contender
from surecut.trials.pool import Applied, Pool


@dataclass(frozen=True, eq=False)
class Calibrated:
    """A decision, with what was fitted for it and the fitted rule on the pool it was drawn from."""

    choices: Choices
    fitted: Fitted
    decision: Decision
    pool: Pool
    applied: Applied

    def on(self, pool: Pool) -> tuple[Float64, Float64, Int64]:
        """The measure of each unit, pruned and with nothing pruned, and how many each query keeps."""
        choices = self.choices
        applied = self.applied if pool is self.pool else pool.applied(choices, self.fitted)
        full = applied.curves.full
        if self.decision.status == "abstained":  # nothing is certified, so nothing is pruned, not even by max_keep
            return full, full, pool.data.lengths
        threshold = self.decision.threshold
        return applied.curves.at(threshold), full, applied.keyed.kept(threshold, choices.min_keep, choices.max_keep)


def calibrated(contender: Contender, pool: Pool, drawn: Draw) -> Calibrated:
    """What `calibrate` would find on these units."""
    choices = contender.choices
    fixed = choices.fixed_grid(drawn.units.size)
    certifying, tuning = drawn, None
    if choices.fits_something and choices.fit_on_calibration:
        tuning = drawn
    elif choices.fits_something:
        certifying, tuning = drawn.divided(choices.tune_fraction)
    elif choices.places_thresholds(fixed):
        certifying, tuning = drawn.divided(ASIDE)
    if certifying.units.size < FEWEST or (tuning is not None and tuning.units.size == 0):
        raise InputError("too few queries to set some aside: ask for more calibration ones")
    fitted = _fitted(contender, pool, tuning, fixed)
    applied = pool.applied(choices, fitted)
    curves = applied.curves.take(certifying.units)
    capped = cuts_any(choices, pool.data.lengths[pool.queries_of(certifying.units)])
    decision = decide(choices, fitted, losses_of(choices, curves), capped)
    return Calibrated(choices, fitted, decision, pool, applied)


def _fitted(contender: Contender, pool: Pool, tuning: Draw | None, fixed: bool) -> Fitted:
    choices, others = contender.choices, None
    if tuning is not None:
        queries = pool.queries_of(tuning.units)
        if choices.fusion == "fit":
            choices = replace(choices, fusion=pool.weight(queries, contender.declared))
        if choices.rule.fits_temperature or choices.places_thresholds(fixed):
            others = replace(pool.data, reranker=None).take(queries)  # nothing that is left to fit looks at it
    return fit(Folds(pool.data, others, fixed_grid=fixed), choices, contender.declared)
