"""What the run found, in a few sentences with its numbers in them."""

import math
from collections.abc import Callable, Sequence

from benchmarks.reproduction.findings import Findings, Simulated
from benchmarks.reproduction.markdown import size, table
from benchmarks.reproduction.published import DELTA
from benchmarks.reproduction.rates import Rate
from benchmarks.reproduction.trials import AT_LEAST, drop_name, same_loss, summaries
from benchmarks.reproduction.tuning import size_missed
from benchmarks.reproduction.wrong.printed_bound import MEASURED
from benchmarks.reproduction.wrong_words import shares_not_monotone
from surecut.bounds import WSR

_NEAR = 0.05


def tuning_words(found: Sequence[Simulated]) -> str:
    """How well the three numbers were met."""
    measures = [
        abs(each - told)
        for one in found
        for each, told in (
            (one.behaviour.first_stage, one.row.first_stage),
            (one.behaviour.reranked, one.row.reranked),
        )
    ]
    missed = [one for one in found if abs(_est_missed(one)) > _NEAR]
    listed = "; ".join(
        f"{one.row.full_name} needs {one.behaviour.est_size:.1f} instead of {one.row.methods['EST'].size:g}"
        for one in missed
    )
    return (
        f"RR@10 of both stages is within {max(measures):.4f} of the published value for all {len(found)} systems. "
        f"EST's size is the published one, up to rounding or {_NEAR:.0%}, for {len(found) - len(missed)} of "
        f"{len(found)}{f'; not for these: {listed}' if listed else ''}."
    )


def faults(found: Findings) -> str:
    """What is wrong with the paper: the worst that was seen, in how many cells, and what is seen at the paper's n."""
    printed = max(found.printed, key=lambda cell: cell.printed.share)
    corrected = [cell for cell in found.corrections if cell.test == WSR.name]
    worst = max(corrected, key=lambda cell: cell.risk.share)
    measured = [cell for cell in found.printed if cell.losses.startswith(MEASURED)]
    seen = found.batches[0]
    return "\n".join(
        (
            f"- The loss is not monotone: {shares_not_monotone(found.monotone)} of the queries lose by some of the "
            "candidates that they gain.",
            f"- The bound as printed rejects what is true {printed.printed} of the time at worst ({printed.losses}, "
            f"n = {printed.queries:,}); {DELTA:g} is allowed. It is beyond that, and beyond chance, in "
            f"{_cells([(cell.queries, cell.printed) for cell in found.printed])}; where losses are {MEASURED}, in "
            f"{_cells([(cell.queries, cell.printed) for cell in measured])}.",
            f"- The corrected risk (with the paper's bound, made right) is below the truth {worst.risk} of the time at "
            f"worst ({worst.population}, n = {worst.queries:,}); {DELTA:g} is promised. It is beyond that, and beyond "
            f"chance, in {_cells([(cell.queries, cell.risk) for cell in corrected])}.",
            f"- Coverage on a batch is not coverage of the truth: certificates made the same way ({seen.claim}) hold "
            f"{seen.batch} of the time on the batch, {seen.truth} of the truth.\n",
        )
    )


def _cells(rates: Sequence[tuple[int, Rate]]) -> str:
    """In how many cells a rate is above delta, in all and at the largest n, which is the paper's."""
    largest = max(n for n, _ in rates)
    there = [rate for n, rate in rates if n == largest]
    above, above_there = (sum(rate.exceeds(DELTA) for rate in each) for each in ([r for _, r in rates], there))
    return f"{above} of {len(rates)} cells ({above_there} of {len(there)} at n = {largest:,})"


def coverage_table(found: Sequence[Simulated]) -> str:
    """Coverage of every method over all systems, published and here."""
    rows = []
    for method in ("CEC", "EST", "ERT"):
        told = [one.row.methods[method].coverage for one in found]
        rows.append([method, f"{_mean(told):.3f} ({_range(told)})", *_coverage(found, method)])
    rows.append(["surecut, the same targets", "-", *_coverage(found, AT_LEAST)])
    rows.append(["surecut, the same loss as a drop", "-", *_coverage(found, _as_drop)])
    heads = ["method", "published, on the batch: mean (range)", "here, on the batch", "by system", "here, of the truth"]
    return table([*heads, "by system", "abstained"], rows)


def size_words(found: Sequence[Simulated]) -> str:
    """Sizes of the methods against one another."""
    published = _geometric([one.row.methods["CEC"].size / one.row.methods["EST"].size for one in found])
    here = _ratio(found, "CEC", "EST")
    same, drop = _ratio(found, AT_LEAST, "CEC"), _ratio(found, _as_drop, "CEC")
    return (
        f"Being sure costs candidates: CEC keeps {published:.2f} times what EST keeps as published (geometric mean), "
        f"{here:.2f} times here. surecut with the same target keeps {same:.2f} times what CEC keeps, with the same "
        f"loss claimed as a drop {drop:.2f} times. {_largest_saving(found)}"
    )


def pooled(found: Sequence[Simulated], method: str | Callable[[Simulated], str]) -> tuple[Rate, Rate]:
    """Over all systems: how often the claim held on the batch, and of the truth."""
    batch = truth = Rate(0, 0)
    for one in found:
        block = one.trials.blocks[0]
        names = [summary.method for summary in block.methods]
        outcomes = block.outcomes[names.index(_named(method, one))]
        batch += Rate(sum(each.holds_on_batch for each in outcomes), len(outcomes))
        truth += Rate(sum(each.holds for each in outcomes), len(outcomes))
    return batch, truth


def _coverage(found: Sequence[Simulated], method: str | Callable[[Simulated], str]) -> list[str]:
    batch, truth = pooled(found, method)
    seen = [summaries(one.trials)[_named(method, one)] for one in found]
    ranges = (_range([each.batch_coverage for each in seen]), _range([each.true_coverage for each in seen]))
    abstained = _mean([each.abstained for each in seen])
    return [str(batch), ranges[0], str(truth), ranges[1], f"{abstained:.1%}"]


def _as_drop(one: Simulated) -> str:
    return drop_name(same_loss(one.row.target, one.row.reranked))


def _named(method: str | Callable[[Simulated], str], one: Simulated) -> str:
    return method if isinstance(method, str) else method(one)


def _ratio(found: Sequence[Simulated], method: str | Callable[[Simulated], str], other: str) -> float:
    pairs = ((summaries(one.trials), _named(method, one)) for one in found)
    return _geometric([each[name].mean_size / each[other].mean_size for each, name in pairs])


def _largest_saving(found: Sequence[Simulated]) -> str:
    best = min(found, key=lambda one: _ratio([one], _as_drop, "CEC"))
    seen = summaries(best.trials)
    return (
        f"The largest difference: {best.row.full_name}, {size(seen['CEC'].mean_size)} with CEC, "
        f"{size(seen[_as_drop(best)].mean_size)} with the drop."
    )


def _est_missed(one: Simulated) -> float:
    return size_missed(one.row.methods["EST"].size, one.behaviour.est_size)


def _geometric(ratios: Sequence[float]) -> float:
    return math.exp(_mean([math.log(each) for each in ratios]))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _range(values: Sequence[float]) -> str:
    return f"{min(values):.2f} to {max(values):.2f}"
