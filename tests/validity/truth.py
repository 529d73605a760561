"""Finite populations whose truth is known, and certificates made from samples drawn from them with replacement."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from surecut.candidates import Candidates
from surecut.choices import Choices, resolve
from surecut.curves import Curves
from surecut.deciding import Decision, decide
from surecut.fitting import Fitted, fit
from surecut.folding import Folds
from surecut.measures import as_measure
from surecut.placement import thresholds_for_means
from surecut.preparing import Prepared, prepare
from surecut.rules import KEEP_EVERYTHING
from surecut.simulation import SYSTEMS, simulate
from surecut.targets import Target, agreement, at_least, max_drop, risk
from surecut.walk import Steps
from tests.validity.design import Cell

DELTA = 0.1
QUERIES, DEPTH = 3000, 100
_KINDS = {"max_drop": max_drop, "max_drop_abs": lambda value: max_drop(value, absolute=True)}


def missing_first(grades: np.ndarray, missed: np.ndarray) -> float:
    """A loss of one's own: is there nothing relevant among the first three?"""
    return 0.0 if np.any(grades[:3] > 0) else 1.0


@dataclass(frozen=True, eq=False)
class Population:
    """Every query there is, as curves; samples are drawn from it with replacement."""

    choices: Choices
    fitted: Fitted
    prepared: Prepared

    @property
    def level(self) -> float:
        return self.choices.target.level

    def truth(self, threshold: float) -> float:
        """E[X] over the population at a threshold."""
        return float(self.prepared.losses.at(threshold).mean())

    def sample(self, n: int, rng: np.random.Generator) -> Prepared:
        """n queries drawn with replacement, each a new draw in the order of drawing."""
        drawn = rng.integers(0, len(self.prepared.curves), n)
        return replace(self.prepared, curves=self.prepared.curves.take(drawn), losses=self.prepared.losses.take(drawn))

    def decision(self, n: int, rng: np.random.Generator) -> Decision:
        """What a sample of n queries leads to."""
        sample = self.sample(n, rng)
        return decide(self.choices, self.fitted, sample.losses, sample.capped)

    def is_false(self, decision: Decision) -> bool:
        """Does the certificate claim something that is not true of the population?"""
        if decision.status == "certified":
            return self.truth(decision.threshold) > self.level + 1e-12
        if decision.status == "relaxed-target":
            assert decision.relaxed is not None
            claimed = self.choices.target.level_at(decision.relaxed["value"])
            return self.truth(KEEP_EVERYTHING) > claimed + 1e-12
        return False

    def false_claims(self, n: int, repetitions: int, seed: int) -> int:
        rng = np.random.default_rng(seed)
        return sum(self.is_false(self.decision(n, rng)) for _ in range(repetitions))


@cache
def system(name: str, ties: bool, queries: int = QUERIES, seed: int = 11) -> Candidates:
    """A simulated system; with ties its scores are whole numbers, so that the truth falls in cliffs."""
    return simulate(replace(SYSTEMS[name], decimals=0 if ties else None), queries, DEPTH, seed)


def population(cell: Cell, measure: str | None = None) -> Population:
    """The population of a cell, with its target where it is hardest: crossed by the truth inside the walk."""
    data, other = system(cell.system, cell.ties), system(cell.system, cell.ties, 300, 99)
    measure = measure or {"binomial": "Success@3"}.get(cell.test, "RR@10")
    placeholder = _target(cell, 0.5)
    choices = resolve(
        measure=measure,
        target=placeholder,
        confidence=1 - DELTA,
        rule=cell.rule,
        test=cell.test,
        tail=cell.tail,
        grid=cell.grid,
        if_unreachable=cell.if_unreachable,
    )
    fitted = fit(Folds(data, other, "table", fixed_grid=cell.grid == "fixed"), choices, as_measure(measure))
    assert (fitted.grid is not None) == (cell.grid == "fixed")
    if cell.starts == "one":
        fitted = replace(fitted, starts=(KEEP_EVERYTHING,))
    prepared = prepare(data, choices, fitted)
    target = placeholder.with_value(_hard_value(choices, prepared, cell))
    return Population(replace(choices, target=target), fitted, replace(prepared, losses=target.losses(prepared.curves)))


def _target(cell: Cell, value: float) -> Target:
    if cell.target == "at_least":
        return at_least(value)
    if cell.target == "risk":
        return risk(missing_first, value, binary=cell.test == "binomial")
    if cell.target == "agreement":
        return agreement(value, k=5)
    return _KINDS[cell.target](value)


def _hard_value(choices: Choices, prepared: Prepared, cell: Cell) -> float:
    """A value where a false claim is likeliest.

    Where the truth falls in cliffs (ties, ranks): false by a hair right after the steepest fall, up to which
    it holds with room to spare, so that the walk gets there. Where it falls smoothly: crossed where a part of
    the list is kept.
    """
    curves, target = prepared.curves, choices.target
    steps = Steps.over_breakpoints(curves)
    means = curves.start.mean() + np.cumsum(curves.changes[np.argsort(curves.keys, kind="stable")]) / len(curves)
    means = np.concatenate(([curves.start.mean()], means[steps.bounds[2:] - 1]))  # after each step
    full = float(curves.full.mean())
    worse = {"max_drop": 1 - means / full, "max_drop_abs": full - means, "risk": means}.get(target.kind, -means)
    first = 0 if cell.starts == "one" else int(np.argmin(worse))
    so_far = np.maximum.accumulate(worse[first:])
    falls = worse[first + 1 :] - so_far[:-1]
    if falls.size and falls.max() > 0.02:
        after = worse[first + 1 + int(np.argmax(falls))]
    else:
        share = 0.25 if cell.n >= 1000 else 0.1
        kept = thresholds_for_means(prepared.data, prepared.rule, [share * DEPTH])[0]
        after = worse[int(np.searchsorted(steps.thresholds, kept)) - 1]
        if cell.starts == "one" and not target.met_unpruned:
            after = max(after, worse[0])  # else the walk never leaves the full list: false there by a hair
    return float(np.clip(abs(after) + (1e-9 if target.rising else -1e-9), 0.02, 0.99))


def churning_population(
    states: int, target: Target, queries: int = 4000, seed: int = 5, met: Collection[int] = ()
) -> Population:
    """A system whose mean never changes while every query's loss is drawn anew at each of several thresholds.

    As far from monotone as can be: what is searched over thresholds is searched over noise. The target is
    false by a hair at every threshold, but for those states where it is to be met with room to spare.
    """
    rng = np.random.default_rng(seed)
    values = rng.beta(0.5, 0.5, (queries, states))
    values += 0.5 - values.mean(axis=0)  # the same truth everywhere
    values = np.clip(values, 0.0, 1.0)
    claim = target.with_value(float(np.delete(values, list(met), axis=1).mean(axis=0).max()) + 1e-6)
    values[:, list(met)] = 0.5 + 0.5 * values[:, list(met)]
    offsets = np.arange(queries + 1) * (states - 1)
    keys = np.tile(np.arange(1.0, states), queries)
    curves = Curves(values[:, 0], values[:, 0].copy(), offsets, keys, values[:, 1:].ravel())
    example = population(Cell())
    prepared = replace(example.prepared, curves=curves, losses=claim.losses(curves))
    return Population(replace(example.choices, target=claim), example.fitted, prepared)
