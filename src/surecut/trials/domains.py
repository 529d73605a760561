"""Are two sets of queries exchangeable? What can be seen of it, in words."""

import numpy as np

from surecut.arrays import Float64
from surecut.candidates import Candidates, offsets_of
from surecut.curves import full_measure
from surecut.fusion import final_scores
from surecut.measures import AnyMeasure
from surecut.rules import RULES

_SURPRISING = 0.01


def differences(one: Candidates, other: Candidates, measure: AnyMeasure) -> list[str]:
    """In what two sets of queries differ so that no certificate carries over; nothing seen is no proof of sameness."""
    found = []
    for part in sorted(set(one.system) & set(other.system)):
        if one.system[part] != other.system[part]:
            found.append(f"the fingerprint of the {part} is another one")
    looks = {
        "the length of the lists": (one.lengths.astype(np.float64), other.lengths.astype(np.float64)),
        "the score profile (softmax share of the first candidate)": (_first_share(one), _first_share(other)),
        f"{measure} with everything reranked": (_full(one, measure), _full(other, measure)),
    }
    for what, (here, there) in looks.items():
        p = same_distribution(here, there)
        if p < _SURPRISING / len(looks):
            found.append(f"{what} is distributed otherwise (Kolmogorov-Smirnov p {_shown(p)})")
    return found


def same_distribution(one: Float64, other: Float64) -> float:
    """The asymptotic p-value of the two-sample Kolmogorov-Smirnov test."""
    from scipy.special import kolmogorov

    values = np.concatenate((one, other))
    here = np.searchsorted(np.sort(one), values, side="right") / one.size
    there = np.searchsorted(np.sort(other), values, side="right") / other.size
    distance = float(np.abs(here - there).max())
    return float(kolmogorov(distance * np.sqrt(one.size * other.size / (one.size + other.size))))


def _shown(p: float) -> str:
    return "< 1e-12" if p < 1e-12 else f"= {p:.1g}"


def _first_share(data: Candidates) -> Float64:
    filled = data.lengths > 0
    return np.exp(RULES["softmax"].keys_at(data, data.offsets[:-1][filled], offsets_of(filled)))


def _full(data: Candidates, measure: AnyMeasure) -> Float64:
    return np.concatenate([full_measure(piece, final_scores(piece), measure) for piece in data.in_pieces()])
