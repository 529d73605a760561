"""What of a certificate an engine has to execute: a window of the first stage, and a least score in it."""

import math
from dataclasses import dataclass

import numpy as np

from surecut.certificate import Certificate


@dataclass(frozen=True)
class Cut:
    """The first `depth` candidates, of these those that reach `least`, of these the first `window`.

    `least` is a score, or with `from_best` a distance to the best one; None asks for no score. At least `min_keep`
    are kept whatever they score.
    """

    depth: int
    window: int
    least: float | None = None
    from_best: bool = False
    min_keep: int = 0

    @property
    def prunes(self) -> bool:
        return self.least is not None or self.window < self.depth


def cut_of(certificate: Certificate) -> Cut | None:
    """The cut of a certificate; None where its rule is no cut of ranks, scores or distances to the best score."""
    rule, threshold, depth = certificate.rule["name"], certificate.threshold, certificate.depth
    window = certificate.most_kept
    if rule == "rank" or math.isinf(threshold):
        return Cut(depth, window)
    if rule == "score":
        return Cut(depth, window, least_float32(threshold), min_keep=certificate.min_keep)
    if rule == "gap":
        return Cut(depth, window, threshold, from_best=True, min_keep=certificate.min_keep)
    return None


def least_float32(threshold: float) -> float:
    """The least score that reaches the threshold: scores are compared as 32-bit floats."""
    with np.errstate(over="ignore"):
        nearest = np.float32(threshold)
    return float(nearest) if float(nearest) >= threshold else above(float(nearest))


def above(score: float) -> float:
    """The next 32-bit score."""
    return float(np.nextafter(np.float32(score), np.float32(math.inf)))


def below(score: float) -> float:
    """The 32-bit score before: the limit of an engine that keeps scores strictly above it."""
    return float(np.nextafter(np.float32(score), np.float32(-math.inf)))


def below_in_double(score: float) -> float:
    """The largest 64-bit score that is less than this one in 32 bits: halfway down, where ties go to even."""
    halfway = (below(score) + score) / 2
    rounds_up = float(np.float32(halfway)) >= score
    return math.nextafter(halfway, -math.inf) if rounds_up else halfway
