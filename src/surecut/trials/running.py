"""The trials: each method calibrates on the same draws, and what it claims is held against batch and truth.

A trial makes two draws from the pool. One without replacement: the rest is the test batch, as in the paper.
One with replacement: the pool itself is then the population, and what is true of it is known.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from surecut.arrays import Float64
from surecut.calibration import DEFAULT_TARGET
from surecut.deciding import Decision
from surecut.errors import InputError
from surecut.folding import FEWEST
from surecut.lists import Lists, refuse_no_lists
from surecut.runners.threads import in_order
from surecut.targets import Target
from surecut.trials.calibrating import calibrated
from surecut.trials.domains import differences
from surecut.trials.drawing import Drawn, draw
from surecut.trials.methods import Contender, Method, contenders
from surecut.trials.outcome import Block, Outcome, Summary, Trials
from surecut.trials.pool import Pool
from surecut.watching import SILENT, Watch

CALIBRATION, TEST = 5000, 6980
"""Sizes of the paper's splits of MS MARCO."""

DEFAULT_METHODS = ("surecut", "cec", "est", "ert")
_NAMES = ("calibration data", "test data")
_PROMISING = ("certified", "relaxed-target", "abstained")
_ROUNDING = 1e-12


def run_trials(
    data: Lists,
    methods: Iterable[str | Method] = DEFAULT_METHODS,
    *,
    test_on: Lists | None = None,
    trials: int = 100,
    calibration: int | None = None,
    test: int | None = None,
    seed: int = 0,
    jobs: int | None = None,
    names: Sequence[str] | None = None,
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
        names: What the data, and the other data, are called in the result.
        watch: Hears of the progress.
    """
    if trials < 1 or seed < 0:
        raise InputError("trials need at least one repetition, and a seed of 0 or more")
    given = [data] if test_on is None else [data, test_on]
    for each in given:
        refuse_no_lists(each)
    common = {"target": DEFAULT_TARGET, **common}
    chosen = contenders(methods, common, grouped=any(each.groups is not None for each in given))
    pools = _pools(given, names, common.get("depth"), chosen)
    target, sizes = pools[-1], _sizes(pools, calibration, test)
    work = [(pool, trial) for pool in pools for trial in range(trials)]
    watch.stage("trials", len(work))

    def one(item: tuple[Pool, int]) -> list[Outcome]:
        drawn = draw(item[0], target, sizes, seed, item[1])
        return [_outcome(contender, item[0], target, drawn) for contender in chosen]

    found = []
    for of_trial in in_order(one, work, jobs):
        found.append(of_trial)
        watch.advance(1)
    mean = float(target.data.lengths.mean())
    blocks = []
    for number, pool in enumerate(pools):
        outcomes = list(zip(*found[number * trials : (number + 1) * trials], strict=True))
        rows = [Summary.of(c.name, c.claim, each, mean) for c, each in zip(chosen, outcomes, strict=True)]
        blocks.append(Block(pool.name, target.name, pool is target, rows, outcomes))
    return Trials(
        blocks=blocks,
        measure=str(chosen[0].choices.measure),
        confidence=chosen[0].choices.confidence,
        trials=trials,
        calibration=sizes[0],
        test=sizes[1],
        seed=seed,
        queries=len(target.data),
        units=len(target),
        mean_candidates=mean,
        differences=[] if test_on is None else differences(pools[0].data, target.data, chosen[0].choices.measure),
        shared=0 if test_on is None else len(set(pools[0].ids) & set(target.ids)),
        filled_reranked=[pool.data.census.filled_reranked for pool in pools],
    )


def _pools(
    given: Sequence[Lists], names: Sequence[str] | None, depth: int | None, chosen: Sequence[Contender]
) -> list[Pool]:
    """The data to draw from, cut alike, with what their lists allow."""
    called = _NAMES[: len(given)] if names is None else names
    if len(called) != len(given):
        raise InputError(f"{len(called)} names for {len(given)} sets of data: give each a name, or none")
    if len(given) > 1 and given[0] is given[1]:
        raise InputError("the data to test on are the data to calibrate on: give others, or leave them out")
    judged = any(contender.choices.measure.needs_judgements for contender in chosen)
    pools = [_pool(each.cut(depth), name, judged) for each, name in zip(given, called, strict=True)]
    known, found = pools[0].data.depth or 0, pools[-1].data.depth or 0
    if found > known:  # a certificate does not apply to lists longer than those it was made from
        raise InputError(
            f"{pools[-1].name} has lists of up to {found:,}, and {pools[0].name} of up to {known:,}: "
            f"cut both at the same depth (--depth {known})"
        )
    return pools


def _pool(data: Lists, name: str, judged: bool) -> Pool:
    try:
        return Pool.of(data, name, judged)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None


def _sizes(pools: Sequence[Pool], calibration: int | None, test: int | None) -> tuple[int, int]:
    """As many as asked for; else the paper's numbers, or its proportion where there are fewer queries."""
    there = len(pools[-1])
    most = min(len(pool) for pool in pools)
    if calibration is None:
        calibration = min(CALIBRATION, round(most * CALIBRATION / (CALIBRATION + TEST)))
    if test is None:
        test = min(TEST, max(there - calibration, 1))
    if calibration < FEWEST or test < 1:
        raise InputError(
            f"{calibration:,} calibration and {test:,} test queries are too few: at least {FEWEST} and 1 are needed"
        )
    if calibration + test > there or calibration > most:
        smallest = min(pools, key=len) if calibration > most else pools[-1]
        both = f" ({smallest.name} is calibrated on too, for comparison)" if len(pools) > 1 else ""
        raise InputError(
            f"{calibration:,} calibration and {test:,} test queries cannot be drawn, there are only {len(smallest):,} "
            f"in {smallest.name}{both}: ask for fewer with --calibration and --test, or leave them out"
        )
    return calibration, test


def _outcome(contender: Contender, source: Pool, target: Pool, drawn: Drawn) -> Outcome:
    """One method in one trial: what it claims from each draw, held against batch and truth."""
    claim = contender.choices.target
    try:
        found, found_true = (calibrated(contender, source, each) for each in (drawn.split, drawn.redrawn))
    except InputError as error:
        raise InputError(f"method '{contender.name}': {error}") from None
    measured, full, kept = found.on(target)
    true_measured, true_full, true_kept = found_true.on(target)
    sizes = kept[target.queries_of(drawn.tested)]
    return Outcome(
        trial=drawn.trial,
        status=found.decision.status,
        threshold=found.decision.threshold,
        confidence=_promised(contender, found.decision),
        corrected="published_confidence" in (found.decision.relaxed or {}),
        measure=float(measured[drawn.tested].mean()),
        size=float(sizes.mean()),
        median_kept=float(np.median(sizes)),
        holds_on_batch=_holds(claim, found.decision, measured[drawn.tested], full[drawn.tested]),
        true_status=found_true.decision.status,
        true_threshold=found_true.decision.threshold,
        true_measure=float(true_measured.mean()),
        true_size=float(true_kept.mean()),
        holds=_holds(claim, found_true.decision, true_measured, true_full),
    )


def _promised(contender: Contender, decision: Decision) -> float | None:
    """The confidence after any correction, of methods that promise one."""
    relaxed = decision.relaxed or {}
    if "published_confidence" in relaxed:
        return float(relaxed["published_confidence"] or 0.0)
    if contender.choices.procedure == "paper" or decision.status in _PROMISING:
        return contender.choices.confidence
    return None


def _holds(target: Target, decision: Decision, measured: Float64, full: Float64) -> bool:
    """Is what was claimed true of these units? Nothing claimed, nothing broken."""
    if decision.status == "abstained":
        return True
    claimed = target.with_value((decision.relaxed or {}).get("value", target.value))
    return bool(claimed.variable(measured, full).mean() <= claimed.level + _ROUNDING)
