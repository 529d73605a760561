"""Rules: what a candidate's key is. Every rule keeps `key >= threshold`, a prefix of the retriever's list."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from surecut.arrays import Float64, Int64
from surecut.errors import InputError
from surecut.kernels import codes
from surecut.registry import Registry

if TYPE_CHECKING:
    from surecut.candidates import Candidates

KEEP_EVERYTHING = -math.inf

START_SHARES = (0.3, 0.05)
"""Share of the list that the starts beside "keep everything" are meant to keep."""

DELTA_SHARES = {1: (1.0,), 1 + len(START_SHARES): (0.34, 0.33, 0.33)}
"""How delta is divided between one start and between several."""


def least_share(several_starts: bool) -> float:
    """What any start is sure to have of delta; levels that are passed on come on top."""
    return min(DELTA_SHARES[1 + len(START_SHARES) if several_starts else 1])


GRID_SIZE = 4095
"""Steps of a fixed grid, beside its first one, which keeps everything."""


@dataclass(frozen=True)
class Rule:
    """A family of nested survivor sets, indexed by a threshold.

    `starts` (of a depth) and `grid_range` are fixed without any data; a rule whose scale belongs to the
    retriever has none, and places them on queries that take no part in the certificate. Rules are pickled along
    with certificates, so `starts` are named functions.
    """

    name: str
    sentence: str
    code: int
    parameters: Mapping[str, float] = field(default_factory=dict)
    normalises: bool = False  # does a key depend on the whole list?
    starts: Callable[[int], tuple[float, ...]] | None = None  # beside "keep everything"
    grid_range: tuple[float, float] | None = None
    fits_temperature: bool = False

    def __str__(self) -> str:
        inside = ", ".join(f"{name}={value:g}" for name, value in self.parameters.items())
        return f"{self.name}({inside})" if inside else self.name

    @property
    def scale(self) -> float:
        """What the kernel divides scores by (beside the query's own spread)."""
        return self.parameters.get("scale", self.parameters.get("temperature", 1.0))

    @property
    def prior(self) -> float:
        return self.parameters.get("rank_prior", 0.0)

    def with_parameters(self, parameters: Mapping[str, float]) -> "Rule":
        """The same rule with some parameters set otherwise."""
        for name, value in parameters.items():
            if name not in self.parameters:
                known = ", ".join(self.parameters) or "none"
                raise InputError(f"rule '{self.name}' has no parameter '{name}' (it has: {known})")
            lowest_allowed = value >= 0 if name == "rank_prior" else value > 0
            if not (math.isfinite(value) and lowest_allowed):
                raise InputError(f"rule '{self.name}': {name}={value:g} is out of range")
        fits = self.fits_temperature and "temperature" not in parameters
        return replace(self, parameters={**self.parameters, **parameters}, fits_temperature=fits)

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "parameters": dict(self.parameters)}

    def keys(self, data: "Candidates") -> Float64:
        """The key of every candidate, in the order of `data`."""
        from surecut.kernels.keys import fill_keys

        filled = np.empty(data.retriever.size)
        fill_keys(data.retriever, data.offsets, self.code, self.scale, self.prior, filled)
        return filled

    def keys_at(self, data: "Candidates", rows: Int64, row_offsets: Int64) -> Float64:
        """The keys of some candidates; `rows` from `row_offsets[q]` to `row_offsets[q + 1]` are those of query `q`."""
        from surecut.kernels.keys import keys_at

        keys: Float64 = keys_at(data.retriever, data.offsets, rows, row_offsets, self.code, self.scale, self.prior)
        return keys

    def grid(self) -> Float64:
        """Thresholds fixed without data, from "keep everything" upwards."""
        if self.grid_range is None:
            raise InputError(f"rule '{self.name}' has no scale of its own to fix a grid on")
        low, high = self.grid_range
        return np.concatenate(([KEEP_EVERYTHING], np.linspace(low, high, GRID_SIZE)))


def _softmax_starts(depth: int) -> tuple[float, ...]:
    """Keys at 30% and 5% of a flat list of that depth: log(1/depth) - log(rank)."""
    return tuple(-math.log(depth) - math.log(max(1.0, share * depth)) for share in START_SHARES)


def _rank_starts(depth: int) -> tuple[float, ...]:
    return tuple(-max(1.0, round(share * depth)) for share in START_SHARES)


def _zscore_starts(depth: int) -> tuple[float, ...]:
    return 0.25, 1.5


def _mass_starts(depth: int) -> tuple[float, ...]:
    return -0.8, -0.5


RULES = Registry(
    "rule",
    Rule(
        "softmax",
        "softmax over the query's own list times a 1/rank prior; nothing to fit, any score scale",
        codes.SOFTMAX,
        {"scale": 0.75, "rank_prior": 1.0},
        normalises=True,
        starts=_softmax_starts,
        grid_range=(-30.0, 0.0),
    ),
    Rule(
        "softmax-fitted",
        "softmax with one temperature fitted on other queries, as in the paper",
        codes.SOFTMAX_FITTED,
        {"temperature": 1.0},
        normalises=True,
        grid_range=(-30.0, 0.0),
        fits_temperature=True,
    ),
    Rule("score", "the raw score: what an engine's own score cut-off executes", codes.SCORE),
    Rule("gap", "the score's distance to the query's best", codes.GAP),
    Rule(
        "zscore",
        "standard deviations above the query's mean score",
        codes.ZSCORE,
        normalises=True,
        starts=_zscore_starts,
        grid_range=(-10.0, 30.0),
    ),
    Rule(
        "rank",
        "a rank cut-off: what top_k and window sizes execute",
        codes.RANK,
        starts=_rank_starts,
        grid_range=(-float(GRID_SIZE), -1.0),
    ),
    Rule(
        "mass",
        "softmax mass before the candidate (top-p)",
        codes.MASS,
        normalises=True,
        starts=_mass_starts,
        grid_range=(-1.0, 0.0),
    ),
)


def as_rule(rule: "str | Rule") -> Rule:
    """Read a rule: 'softmax', or 'softmax(scale=1, rank_prior=0)'."""
    if isinstance(rule, Rule):
        return rule
    name, _, inside = rule.partition("(")
    chosen = RULES[name.strip()]
    if not inside:
        return chosen
    try:
        pairs = (part.split("=") for part in inside.rstrip(") ").split(",") if part.strip())
        parameters = {key.strip(): float(value) for key, value in pairs}
    except ValueError:
        raise InputError(f"cannot read rule '{rule}': write it like softmax(scale=1, rank_prior=0)") from None
    return chosen.with_parameters(parameters)
