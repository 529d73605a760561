"""Evidence that a mean has risen above its level: an e-process, and an e-CUSUM for changes on the way.

Both bet a fraction f of what they have on every observation x in [0, 1],

    factor_f(x) = 1 + (f / a) (x - a),    f in {.02, .08, .3},

whose mean is at most 1 while E[X] <= a. The e-process is the mean over f of the products of all factors: it ever
reaches A with a probability of at most 1/A (Ville). In the e-CUSUM a component that has fallen below 1 begins again
at 1, K -> max(K, 1) factor: on average at least A observations pass before it reaches A for nothing.
"""

import math
from collections.abc import Sequence

FRACTIONS = (0.02, 0.08, 0.3)

Logs = tuple[float, ...]
"""The natural logarithm of each component's wealth."""

FRESH: Logs = (0.0,) * len(FRACTIONS)


def log_factors(x: float, level: float) -> Logs:
    """By how much one observation multiplies each component."""
    return tuple(math.log1p(fraction / level * (x - level)) for fraction in FRACTIONS)


def e_process(before: Logs, factors: Logs) -> Logs:
    """The components after an observation, remembering everything."""
    return tuple(log + factor for log, factor in zip(before, factors, strict=True))


def e_cusum(before: Logs, factors: Logs) -> Logs:
    """The components after an observation, none of them carrying a loss along."""
    return tuple(max(log, 0.0) + factor for log, factor in zip(before, factors, strict=True))


def log_mean(logs: Sequence[float]) -> float:
    """The logarithm of the components' mean, which is the evidence."""
    top = max(logs)
    return top + math.log(sum(math.exp(log - top) for log in logs) / len(logs))
