"""What is fitted or placed, on queries set apart for that: temperature, fusion weight, starts and grid."""

from dataclasses import dataclass

from surecut.arrays import Float64
from surecut.choices import Choices
from surecut.folding import Folds
from surecut.fusion import fit_fusion
from surecut.lists import Lists
from surecut.measures import AnyMeasure
from surecut.placement import placed_grid, placed_starts
from surecut.rules import KEEP_EVERYTHING, Rule
from surecut.temperature import fit_temperature


@dataclass(frozen=True)
class Fitted:
    """What other queries had a say in: the rule's temperature, the fusion weight, starts and grid."""

    rule: Rule
    beta: float
    starts: tuple[float, ...]
    grid: Float64 | None
    purposes: list[str]


def fit(folds: Folds, choices: Choices, declared: AnyMeasure) -> Fitted:
    """Fit and place whatever needs it; `declared` is the measure that a fusion weight is fitted for."""
    rule, beta, purposes = choices.rule, choices.fusion, []
    if rule.fits_temperature and folds.tuning is not None:
        temperature = fit_temperature(folds.tuning.at_hand(), getattr(choices.measure, "rel", 1))
        rule = rule.with_parameters({"temperature": temperature})
        purposes.append("temperature")
    if isinstance(beta, str):
        assert folds.tuning is not None
        beta = fit_fusion(folds.tuning, declared)
        purposes.append("fusion weight")
    starts: tuple[float, ...] = (KEEP_EVERYTHING,)
    if choices.several_starts:
        if rule.starts is not None:  # the depth is a setting of the retriever, not a finding about the queries
            starts += rule.starts(depth_of(folds.calibration))
        elif folds.tuning is not None:
            starts += placed_starts(rule, folds.tuning)
            purposes.append("starts")
    grid = None
    if folds.fixed_grid and choices.procedure == "walk":
        if rule.grid_range is not None:
            grid = rule.grid()
        elif folds.tuning is not None:
            grid = placed_grid(rule, folds.tuning)
            purposes.append("grid")
    return Fitted(rule, beta, starts, grid, purposes)


def depth_of(data: Lists) -> int:
    """What the retriever was asked for, as far as that is known."""
    return max(data.depth or 0, int(data.lengths.max()))
