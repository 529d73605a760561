"""The trials: each method calibrates on the same draws, and what it claims is held against batch and truth.

A trial makes two draws from the pool. One without replacement: the rest is the test batch, as in the paper.
One with replacement: the pool itself is then the population, and what is true of it is known.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from surecut.arrays import Float64, Int64
from surecut.calibration import Decision, Fitted, Prepared, decide, fit, losses_of
from surecut.candidates import Candidates
from surecut.choices import Choices
from surecut.errors import InputError
from surecut.folding import ASIDE, FEWEST, Folds
from surecut.targets import Target
from surecut.trials.domains import differences
from surecut.trials.drawing import Draw, redraw, split
from surecut.trials.methods import Contender, Method, contenders
from surecut.trials.outcome import Block, Outcome, Summary, Trials
from surecut.trials.pool import Pool
from surecut.watching import SILENT, Watch

CALIBRATION, TEST = 5000, 6980
"""Sizes of the paper's splits of MS MARCO."""

DEFAULT_METHODS = ("surecut", "cec", "est", "ert")
_ROUNDING = 1e-12
T = TypeVar("T")


def run_trials(
    data: Candidates,
    methods: Iterable[str | Method] = DEFAULT_METHODS,
    *,
    test_on: Candidates | None = None,
    trials: int = 100,
    calibration: int | None = None,
    test: int | None = None,
    seed: int = 0,
    jobs: int | None = None,
    names: Sequence[str] = ("calibration data", "test data"),
    watch: Watch = SILENT,
    **common: Any,
) -> Trials:
    """Repeated random splits by query: coverage and size of each method, side by side on the same draws.

    `common` are arguments of `calibrate` (measure, target, confidence, rule, ...) for all methods; a `Method`
    may differ in some of them. With `test_on` the claims made from `data` are held against other data, beside
    claims made from a sample of that other data itself. The result does not depend on `jobs`.

    >>> run_trials(data, ["surecut", "est"], trials=20, target=max_drop(0.02))  # doctest: +SKIP

    Args:
        data: The pool to draw from; for coverage of the truth it is taken as the whole population.
        methods: Names (surecut, cec, est, ert), or each a `Method` of your own.
        test_on: Other data to hold the claims against.
        trials: How often the queries are drawn anew.
        calibration: Queries that calibrate in a trial; 5,000 as in the paper, or in that proportion if there are fewer.
        test: Queries of the test batch; 6,980, or what is left.
        seed: Of the draws; the same seed gives the same trials.
        jobs: Threads; all cores by default.
        names: What the two sets of data are called in the result.
        watch: Hears of the progress.
    """
    if trials < 1 or seed < 0:
        raise InputError("trials need at least one repetition, and a seed of 0 or more")
    given = [data] if test_on is None else [data, test_on]
    chosen = contenders(methods, common, grouped=any(each.groups is not None for each in given))
    judged = any(contender.choices.measure.needs_judgements for contender in chosen)
    pools = [Pool.of(each.cut(common.get("depth")), name, judged) for each, name in zip(given, names, strict=False)]
    target = pools[-1]
    _refuse_longer_lists(pools)
    sizes = _sizes(pools, calibration, test)
    work = [(pool, trial) for pool in pools for trial in range(trials)]
    watch.stage("trials", len(work))

    def one(item: tuple[Pool, int]) -> list[Outcome]:
        return [_outcome(contender, item[0], target, sizes, seed, item[1]) for contender in chosen]

    found = _on_all_cores(one, work, jobs, lambda: watch.advance(1))
    mean = float(target.data.lengths.mean())
    blocks = []
    for number, pool in enumerate(pools):
        outcomes = list(zip(*found[number * trials : (number + 1) * trials], strict=True))
        rows = [Summary.of(c.name, c.claim, each, mean) for c, each in zip(chosen, outcomes, strict=True)]
        blocks.append(Block(pool.name, target.name, rows, outcomes))
    return Trials(
        blocks,
        str(chosen[0].choices.measure),
        trials,
        *sizes,
        seed,
        len(target.data),
        mean,
        [] if test_on is None else differences(pools[0].data, target.data, chosen[0].choices.measure),
    )


def _sizes(pools: Sequence[Pool], calibration: int | None, test: int | None) -> tuple[int, int]:
    """As many as asked for; else the paper's numbers, or its proportion where there are fewer queries."""
    there = len(pools[-1])
    most = there if len(pools) == 1 else min(there, len(pools[0]))
    if calibration is None:
        calibration = min(CALIBRATION, round(most * CALIBRATION / (CALIBRATION + TEST)))
    if test is None:
        test = min(TEST, max(there - calibration, 1))
    if calibration < FEWEST or test < 1:
        raise InputError(
            f"{calibration:,} calibration and {test:,} test queries are too few: at least {FEWEST} and 1 are needed"
        )
    if calibration + test > there or calibration > most:
        raise InputError(
            f"{calibration:,} calibration and {test:,} test queries cannot be drawn, there are only {most:,}: "
            f"ask for fewer with --calibration and --test, or leave them out"
        )
    return calibration, test


def _refuse_longer_lists(pools: Sequence[Pool]) -> None:
    """A certificate does not apply to lists longer than those it was made from."""
    known, found = pools[0].data.depth or 0, pools[-1].data.depth or 0
    if found > known:
        raise InputError(
            f"{pools[-1].name} has lists of up to {found:,}, and {pools[0].name} of up to {known:,}: "
            f"cut both at the same depth (--depth {known})"
        )


def _on_all_cores(one: Callable[[Any], T], work: Sequence[Any], jobs: int | None, done: Callable[[], None]) -> list[T]:
    """Threads, because the kernels run without the interpreter's lock and the pool is large."""
    if jobs is not None and jobs < 1:
        raise InputError(f"jobs must be at least 1, not {jobs}")
    executor = ThreadPoolExecutor(jobs or os.cpu_count())
    try:
        results = []
        for result in executor.map(one, work):
            results.append(result)
            done()
        return results
    finally:
        executor.shutdown(cancel_futures=True)


def _outcome(
    contender: Contender, source: Pool, target: Pool, sizes: tuple[int, int], seed: int, trial: int
) -> Outcome:
    calibration, test = sizes
    choices = contender.choices
    drawn, _ = split(source, calibration, seed, trial)
    tested = split(target, calibration, seed, trial)[1][:test]
    fitted, decision = calibrated(contender, source, drawn)
    measured, full, kept = _applied(choices, target, fitted, decision)
    sizes_tested = kept[target.queries_of(tested)]
    true_fitted, true_decision = calibrated(contender, source, redraw(source, calibration, seed, trial))
    true_measured, true_full, true_kept = _applied(choices, target, true_fitted, true_decision)
    return Outcome(
        trial=trial,
        status=decision.status,
        threshold=decision.threshold,
        confidence=_promised(contender, decision),
        measure=float(measured[tested].mean()),
        size=float(sizes_tested.mean()),
        median_kept=float(np.median(sizes_tested)),
        holds_on_batch=_holds(choices.target, decision, measured[tested], full[tested]),
        true_status=true_decision.status,
        true_threshold=true_decision.threshold,
        true_measure=float(true_measured.mean()),
        true_size=float(true_kept.mean()),
        holds=_holds(choices.target, true_decision, true_measured, true_full),
    )


def calibrated(contender: Contender, pool: Pool, drawn: Draw) -> tuple[Fitted, Decision]:
    """What `calibrate` would find on these units, from the pool's curves."""
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
        raise InputError(f"method '{contender.name}': too few queries to set some aside: ask for more calibration ones")
    fitted = _fitted(contender, pool, tuning, fixed)
    applied = pool.applied(choices, fitted)
    curves = applied.curves.take(certifying.units)
    longest = pool.data.lengths[pool.queries_of(certifying.units)].max()
    capped = choices.max_keep is not None and bool(longest > choices.max_keep)
    prepared = Prepared(pool.data, applied.keys, curves, losses_of(choices, curves), capped)
    return fitted, decide(choices, fitted, prepared)


def _fitted(contender: Contender, pool: Pool, tuning: Draw | None, fixed: bool) -> Fitted:
    choices, others = contender.choices, None
    if tuning is not None:
        queries = pool.queries_of(tuning.units)
        if choices.fusion == "fit":
            choices = replace(choices, fusion=pool.weight(queries, contender.declared))
        if choices.rule.fits_temperature or choices.places_thresholds(fixed):
            others = replace(pool.data, reranker=None).take(queries)  # nothing that is left to fit looks at it
    return fit(Folds(pool.data, others, fixed_grid=fixed), choices, contender.declared)


def _applied(choices: Choices, pool: Pool, fitted: Fitted, decision: Decision) -> tuple[Float64, Float64, Int64]:
    """The measure of each unit, pruned and with nothing pruned, and how many each query keeps."""
    applied = pool.applied(choices, fitted)
    full = applied.curves.full
    if decision.status == "abstained":  # nothing is certified, so nothing is pruned, not even by max_keep
        return full, full, pool.data.lengths
    return applied.curves.at(decision.threshold), full, pool.kept(applied, decision.threshold, choices)


def _promised(contender: Contender, decision: Decision) -> float | None:
    """The confidence after any correction."""
    if not contender.asks_confidence:
        return None
    relaxed = decision.relaxed or {}
    if "published_confidence" in relaxed:
        return float(relaxed["published_confidence"] or 0.0)
    return float(relaxed.get("confidence", contender.choices.confidence))


def _holds(target: Target, decision: Decision, measured: Float64, full: Float64) -> bool:
    """Is what was claimed true of these units? Nothing claimed, nothing broken."""
    if decision.status == "abstained":
        return True
    if decision.status == "relaxed-target" and decision.relaxed is not None:
        target = target.with_value(decision.relaxed["value"])
    return bool(target.variable(measured, full).mean() <= target.level + _ROUNDING)
