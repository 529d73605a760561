"""What `calibrate` was asked for: names become objects, and what is out of range is refused at once."""

from dataclasses import dataclass
from typing import Any

from surecut.bounds import TESTS, WSR, MeanTest
from surecut.curves import TAILS, Tail
from surecut.errors import InputError
from surecut.fusion import check_fusion
from surecut.measures import NO_CUTOFF, AnyMeasure, as_measure
from surecut.registry import unknown
from surecut.rules import RULES, Rule, as_rule, least_share
from surecut.targets import Target

PROCEDURES = ("walk", "paper", "est", "ert")
GRIDS = ("auto", "exact", "fixed")
IF_UNREACHABLE = ("abstain", "relax-target", "relax-confidence")

FIXED_PAST = 20_000
"""Units past which an automatic grid is fixed: the exact walk costs breakpoints times units."""


@dataclass(frozen=True)
class Choices:
    """Everything that is decided before the data is looked at."""

    measure: AnyMeasure
    target: Target
    confidence: float
    rule: Rule
    test: MeanTest
    tail: Tail
    min_keep: int
    max_keep: int | None
    depth: int | None
    fusion: float | str
    tune_fraction: float
    fit_on_calibration: bool
    procedure: str
    grid: str
    if_unreachable: str
    look: int = 0  # of several at a growing sample, declared in advance; 0 where there is one only

    @property
    def delta(self) -> float:
        """What is left for this calibration to be wrong with: of several looks, look i has delta / 2^i."""
        return (1.0 - self.confidence) * 2.0**-self.look

    @property
    def least_delta(self) -> float:
        """What any start is sure to have."""
        return self.delta * least_share(self.several_starts)

    @property
    def several_starts(self) -> bool:
        """A drop or agreement claim holds for the full list; others may fail there and hold further on."""
        return self.procedure == "walk" and not self.target.met_unpruned

    @property
    def fits_something(self) -> bool:
        return self.rule.fits_temperature or self.fusion == "fit"

    def places_thresholds(self, fixed_grid: bool) -> bool:
        """Does the rule need other queries to place its starts or grid on?"""
        without_starts = self.several_starts and self.rule.starts is None
        return self.procedure == "walk" and (without_starts or (fixed_grid and self.rule.grid_range is None))

    def fixed_grid(self, units: int) -> bool:
        return self.grid == "fixed" or (self.grid == "auto" and units > FIXED_PAST)


def resolve(
    *,
    measure: Any = "RR@10",
    target: Target,
    confidence: float = 0.9,
    rule: str | Rule = "softmax",
    test: str = "auto",
    tail: str = "drop",
    min_keep: int = 1,
    max_keep: int | None = None,
    depth: int | None = None,
    fusion: float | str = 0.0,
    tune_fraction: float = 0.2,
    fit_on_calibration: bool = False,
    procedure: str = "walk",
    grid: str = "auto",
    if_unreachable: str = "abstain",
    grouped: bool = False,
) -> Choices:
    """Read and check the arguments of `calibrate`; `grouped` says that a loss may be a mean over a group."""
    _one_of("procedure", procedure, PROCEDURES)
    _one_of("tail", tail, TAILS)
    _one_of("grid", grid, GRIDS)
    _one_of("if_unreachable", if_unreachable, IF_UNREACHABLE)
    if not isinstance(target, Target):
        raise InputError("target must be made by at_least, max_drop, risk or agreement")
    check_share("confidence", confidence)
    check_share("the tuning share", tune_fraction)
    check_fusion(fusion)
    _check_sizes(min_keep, max_keep, depth)
    if target.is_drop and if_unreachable != "abstain":
        raise InputError(
            f"'{if_unreachable}' has nothing to relax here: with nothing pruned the claim holds by definition"
        )
    chosen_rule = as_rule(rule)
    if procedure == "ert":
        chosen_rule = RULES["rank"]
    elif procedure == "paper":
        chosen_rule = RULES["softmax-fitted"]
    declared = as_measure(measure)
    return Choices(
        measure=target.measure(declared),
        target=target,
        confidence=float(confidence),
        rule=chosen_rule,
        test=WSR if procedure == "paper" else _test(test, target.binary(target.measure(declared)) and not grouped),
        tail="append" if tail == "append" else "drop",
        min_keep=int(min_keep),
        max_keep=None if max_keep is None else int(max_keep),
        depth=None if depth is None else int(depth),
        fusion=fusion if isinstance(fusion, str) else float(fusion),
        tune_fraction=float(tune_fraction),
        fit_on_calibration=fit_on_calibration or procedure == "paper",
        procedure=procedure,
        grid=grid,
        if_unreachable=if_unreachable,
    )


def check_share(what: str, share: float) -> None:
    if not isinstance(share, int | float) or not 0.0 < share < 1.0:
        raise InputError(f"{what} must be a number between 0 and 1, like 0.9, not {share}")


def _one_of(what: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise InputError(unknown(what, str(value), list(known)))


def _check_sizes(min_keep: int, max_keep: int | None, depth: int | None) -> None:
    for what, value in (("min_keep", min_keep), ("max_keep", max_keep), ("depth", depth)):
        if value is not None and int(value) != value:
            raise InputError(f"{what} must be a whole number, not {value}")
    if not 0 <= min_keep < NO_CUTOFF:
        raise InputError(f"min_keep must be a count, 0 or more, not {min_keep}")
    if max_keep is not None and not max(min_keep, 1) <= max_keep < NO_CUTOFF:
        raise InputError(f"max_keep must be at least 1 and at least min_keep, not {max_keep}")
    if depth is not None and not 1 <= depth < NO_CUTOFF:
        raise InputError(f"depth must be at least 1, not {depth}")


def _test(name: str, binary: bool) -> MeanTest:
    """'auto' is decided by what was declared, never by looking at losses."""
    if name == "auto":
        return TESTS["binomial"] if binary else TESTS["hedge"]
    if name not in TESTS.names():
        raise InputError(unknown("test", name, ["auto", *TESTS.names()]))
    test = TESTS[name]
    if test.needs_binary and not binary:
        raise InputError(
            f"the {name} test needs losses that are 0 or 1 by definition (at least with Success@k, RR@1 or P@1, "
            f"or a loss declared binary, and no groups); use hedge"
        )
    return test
