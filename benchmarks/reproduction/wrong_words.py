"""What the paper gets wrong, in words and tables."""

from collections.abc import Sequence

from benchmarks.reproduction.markdown import prose, size, table
from benchmarks.reproduction.published import DELTA
from benchmarks.reproduction.rates import Rate
from benchmarks.reproduction.wrong.batches import Seen, expected_on_batch
from benchmarks.reproduction.wrong.corrections import RAISED, Corrected
from benchmarks.reproduction.wrong.monotonicity import ERRORS, Monotonicity
from benchmarks.reproduction.wrong.printed_bound import MEASURED, FalseRejections

_MARK = " **!**"

_MONOTONE = """\
The paper assumes that the risk falls as the set grows. But a candidate that enters may push the relevant one down:
{shares} of a system's queries lose somewhere although more of their candidates are kept. {seen}
surecut needs no monotone loss: it tests thresholds in an order fixed in advance and stops at the first that fails.

The best set is chosen on one half of the queries and measured on the other (rule `softmax`).
"""
_INSIDE = """\
For {count} of {systems} systems a smaller set beats the full list beyond chance (by more than {errors} standard
errors), so that the mean risk has its minimum inside: {named}. Real tables among them: {real_inside} of {real}.
"""
_NOT_INSIDE = "For none of these systems a smaller set beats the full list beyond chance."

_PRINTED = """\
The printed formula bets on a loss with a variance that already includes it. A true hypothesis must be rejected at
most {delta:.0%} of the time. As printed it is rejected more often than that, beyond chance, in {printed} of {cells}
cells ({printed_rr} of the {cells_rr} whose losses are 1 - RR@10), at worst {worst} of the time ({losses}, n =
{queries:,}); with the variance before the loss, as surecut's `wsr` has it, in {predictable}; with `hedge` in
{hedge}. Where a cell is not marked, nothing was shown against it. (The published code is not tried here.)

False rejections at delta = {delta:g}, of {repetitions:,} samples a cell, with 95% intervals.
"""

_CORRECTIONS = """\
Where the target cannot be met the paper reports the smallest bound over all thresholds as the risk instead, or
raises delta until the bound there fits. The smallest of many bounds is no bound, and a level chosen after the fact
is no level. {by_test} A cell that is not marked shows no fault. The paper's bound has slack, as the section before
shows, and that hides a part of the search; hedge has little.

First column: how often the corrected risk is below the truth at the very threshold it was read off. The others: a
target that is false at every threshold by a hair, and how often delta is raised to no more than a value, which an
honest delta would do no more often than that value. A threshold whose mean risk is not below the smallest bound so
far is passed over, which is in the paper's favour: a search of those too could only end lower. {repetitions:,} samples
a cell, drawn with replacement from the population; 95% intervals.
"""
_BY_TEST = """\
With {test} the corrected risk is below the truth {least:.3f} to {most:.3f} of the time, beyond chance in {risk} of
{cells} cells; the raised delta is not honoured, beyond chance, in {raised} of {raised_cells}.
"""

_BATCHES = """\
The guarantee is about the population. The paper counts how often a batch of test queries meets the claim, and a
batch has noise of its own: a certificate that is exactly as tight as it promises, 90%, is met by a batch of
{test:,} only {expected:.1%} of the time when {calibration:,} queries calibrated (a normal approximation). So
coverage of 90% on batches is not what a tight certificate looks like, but one with room to spare.

Certificates made the same way and seen both ways, on {name}, {trials:,} trials, with 95% intervals: from a split,
held against the rest of it, and from a draw with replacement, held against the pool. An abstention counts as holding:
{abstained}. `clt` is the normal approximation, tight but not certified.
"""


def monotone_section(found: Sequence[Monotonicity]) -> str:
    """The loss is not monotone."""
    inside = [each for each in found if each.significant]
    named = "; ".join(f"{each.name} ({each.gain:+.4f} with {size(each.best_size)} kept)" for each in inside)
    counts = {"count": len(inside), "systems": len(found), "named": named, "errors": ERRORS}
    real = {"real": sum(each.real for each in found), "real_inside": sum(each.real for each in inside)}
    seen = _INSIDE.format(**counts, **real).strip() if inside else _NOT_INSIDE
    rows = [
        [
            each.name,
            f"{each.not_monotone:.1%}",
            f"{each.full:.4f}",
            size(each.best_size),
            f"{each.gain:+.4f} ± {each.error:.4f}" + (_MARK if each.significant else ""),
        ]
        for each in found
    ]
    heads = ["system", "queries not monotone", "RR@10, full list", "best mean size", "RR@10 of that set - full list"]
    return prose(_MONOTONE, shares=shares_not_monotone(found), seen=seen) + "\n" + table(heads, rows)


def shares_not_monotone(found: Sequence[Monotonicity]) -> str:
    """How many queries are not monotone, simulated systems and real tables apart."""
    kinds = ((False, "in simulated systems"), (True, "in real tables"))
    shares = {words: [each.not_monotone for each in found if each.real == real] for real, words in kinds}
    return " and ".join(f"{min(these):.0%} to {max(these):.0%} ({words})" for words, these in shares.items() if these)


def printed_section(found: Sequence[FalseRejections]) -> str:
    """The printed bound."""
    wrong = {name: _above([getattr(each, name) for each in found]) for name in ("printed", "predictable", "hedge")}
    worst = max(found, key=lambda each: each.printed.share)
    rows = [
        [
            f"{each.losses}, mean {each.mean:.3f}",
            f"{each.queries:,}",
            *(_marked(rate, DELTA) for rate in (each.printed, each.predictable, each.hedge)),
        ]
        for each in found
    ]
    measured = [each.printed for each in found if each.losses.startswith(MEASURED)]
    words = prose(
        _PRINTED,
        delta=DELTA,
        printed_rr=_above(measured),
        cells_rr=len(measured),
        cells=len(found),
        worst=worst.printed,
        losses=worst.losses,
        queries=worst.queries,
        repetitions=worst.printed.trials,
        **wrong,
    )
    return words + "\n" + table(["losses", "n", "as printed", "variance before the loss (wsr)", "hedge"], rows)


def corrections_section(found: Sequence[Corrected]) -> str:
    """The corrections."""
    heads = ["population", "n", "bound", f"corrected risk below the truth (at most {DELTA:g})"]
    heads += [f"delta raised to {d:g} or less (at most {d:g})" for d in RAISED]
    rows = [
        [
            each.population,
            f"{each.queries:,}",
            each.test,
            _marked(each.risk, DELTA),
            *(_marked(each.confidence[d], d) for d in RAISED),
        ]
        for each in found
    ]
    tests = dict.fromkeys(each.test for each in found)
    by_test = " ".join(_for_test(test, [each for each in found if each.test == test]) for test in tests)
    words = prose(_CORRECTIONS, by_test=by_test, repetitions=found[0].risk.trials)
    return words + "\n" + table(heads, rows, 3)


def batches_section(found: Sequence[Seen]) -> str:
    """Coverage on a batch."""
    one = found[0]
    words = prose(
        _BATCHES,
        test=one.test,
        calibration=one.calibration,
        expected=expected_on_batch(one.calibration, one.test),
        name=one.name,
        trials=one.truth.trials,
        abstained="there was none" if not any(each.abstained for each in found) else "see the last column",
    )
    rows = [[each.claim, str(each.truth), str(each.batch), f"{each.abstained:.1%}"] for each in found]
    return words + "\n" + table(["test and claim", "coverage of the truth", "coverage on the batch", "abstained"], rows)


def _for_test(test: str, cells: Sequence[Corrected]) -> str:
    shares = [each.risk.share for each in cells]
    return _BY_TEST.format(
        test=test,
        least=min(shares),
        most=max(shares),
        risk=_above([each.risk for each in cells]),
        cells=len(cells),
        raised=sum(each.confidence[d].exceeds(d) for each in cells for d in RAISED),
        raised_cells=len(cells) * len(RAISED),
    )


def _marked(rate: Rate, promised: float) -> str:
    return str(rate) + (_MARK if rate.exceeds(promised) else "")


def _above(rates: Sequence[Rate]) -> int:
    return sum(rate.exceeds(DELTA) for rate in rates)
