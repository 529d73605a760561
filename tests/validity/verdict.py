"""When is an error rate above what was promised? An exact binomial test that chance fails once in a thousand."""

from scipy.special import bdtrc

LEVEL = 0.001


def chance_of(false_claims: int, trials: int, promised: float) -> float:
    """P(at least so many false claims) if each trial had exactly the promised probability of one."""
    return 1.0 if false_claims == 0 else float(bdtrc(false_claims - 1, trials, promised))


def exceeds(false_claims: int, trials: int, promised: float, level: float = LEVEL) -> bool:
    """Is the error rate above the promise beyond what chance explains?"""
    return chance_of(false_claims, trials, promised) < level
