"""Which combinations are tried: every pair of levels of two factors meets in some cell."""

import itertools
import random
from dataclasses import dataclass, fields

FACTORS: dict[str, tuple[object, ...]] = {
    "test": ("hedge", "wsr", "hoeffding", "bentkus", "hoeffding-bentkus", "binomial"),
    "rule": ("softmax", "softmax-fitted", "score", "gap", "zscore", "rank", "mass"),
    "target": ("at_least", "max_drop", "max_drop_abs", "risk", "agreement"),
    "tail": ("drop", "append"),
    "starts": ("one", "several"),
    "if_unreachable": ("abstain", "relax-target", "relax-confidence"),
    "ties": (False, True),
    "system": ("dense-electra", "lured"),
    "grid": ("exact", "fixed"),
    "n": (100, 300, 1000, 5000),
}


@dataclass(frozen=True)
class Cell:
    """One combination of the factors."""

    test: str = "hedge"
    rule: str = "rank"
    target: str = "at_least"
    tail: str = "drop"
    starts: str = "one"
    if_unreachable: str = "abstain"
    ties: bool = False
    system: str = "dense-electra"
    grid: str = "exact"
    n: int = 300


def possible(levels: dict[str, object]) -> bool:
    """Some pairs cannot meet: the exact binomial needs a 0/1 loss; a drop has nothing to relax or to start anew."""
    target = levels.get("target")
    if levels.get("test") == "binomial" and target not in (None, "at_least", "risk"):
        return False
    if target in ("max_drop", "max_drop_abs") and levels.get("if_unreachable") not in (None, "abstain"):
        return False
    return not (target in ("max_drop", "max_drop_abs", "agreement") and levels.get("starts") == "several")


def pairs(levels: dict[str, object]) -> set[tuple[tuple[str, object], tuple[str, object]]]:
    return set(itertools.combinations(sorted(levels.items()), 2))


def covering_design(seed: int = 1) -> list[Cell]:
    """Cells chosen greedily, from random ones, until every possible pair is covered."""
    rng = random.Random(seed)
    names = [each.name for each in fields(Cell)]
    wanted = {
        pair
        for a, b in itertools.combinations(names, 2)
        for x, y in itertools.product(FACTORS[a], FACTORS[b])
        if possible({a: x, b: y})
        for pair in pairs({a: x, b: y})
    }
    cells = []
    while wanted:
        best: dict[str, object] = {}
        for _ in range(400):
            levels = {name: rng.choice(FACTORS[name]) for name in names}
            (first, x), (second, y) = rng.choice(sorted(wanted, key=repr)) if rng.random() < 0.5 else (("n", 100),) * 2
            levels |= {first: x, second: y}
            if possible(levels) and len(pairs(levels) & wanted) > len(pairs(best) & wanted):
                best = levels
        wanted -= pairs(best)
        if best:
            cells.append(Cell(**best))  # type: ignore[arg-type]
    return cells
