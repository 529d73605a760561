"""The page, put together."""

import math
from collections.abc import Sequence

from benchmarks.reproduction import commands, summary, tables, texts, wrong_words
from benchmarks.reproduction.figures import (
    Figure,
    confidence_figure,
    coverage_figure,
    required_figure,
    risk_figure,
    size_figure,
)
from benchmarks.reproduction.findings import SWEEP_ROW, Findings
from benchmarks.reproduction.markdown import code, details, prose, table
from benchmarks.reproduction.published import COLLECTIONS, SMALLEST_BOUND
from benchmarks.reproduction.rates import CHANCE
from benchmarks.reproduction.systems import RELEVANT
from benchmarks.reproduction.trials import AT_LEAST, SMALL_DROP, drop_name, summaries

FIGURES = "figures"  # the folder, beside the page
_REQUIRED_UP_TO = 0.405  # figure 3: targets beyond it are mostly out of reach
_CORRECTED_FROM = 0.36  # figure 4


def figures_of(found: Findings) -> list[Figure]:
    """All figures, in the paper's order."""
    marco = [(each.row, summaries(each.trials)) for each in found.simulated if each.row.collection == "MARCO"]
    return [
        coverage_figure(marco, found.simulated[0].trials.trials),
        size_figure(marco),
        risk_figure(found.risk),
        required_figure([point for point in found.sweep if point.target <= _REQUIRED_UP_TO], SWEEP_ROW),
        confidence_figure([point for point in found.sweep if point.target >= _CORRECTED_FROM], _smallest_bound(found)),
    ]


def page(found: Findings, figures: Sequence[Figure]) -> str:
    """The whole page."""
    parts = [
        "# The paper's tables and figures, again\n",
        *_opening(found),
        *_stages(found),
        *_table_3(found),
        "## The figures\n",
        *map(_figure, figures),
        _about_smallest_bound(found),
        *_wrong(found),
        *_rest(),
    ]
    return "\n".join(parts)


def _opening(found: Findings) -> list[str]:
    trials = found.simulated[0].trials.trials
    return [
        prose(texts.HEAD),
        "## In short\n",
        prose(texts.IN_SHORT, trials=trials, tuned=summary.tuning_words(found.simulated)),
        summary.coverage_table(found.simulated),
        prose("{words}", words=summary.size_words(found.simulated)),
        "What the paper gets wrong, and how far these experiments show it (intervals are 95%):\n",
        summary.faults(found),
        "## What can be compared\n",
        table(("number", "simulated against published", "real tables against published"), texts.COMPARABLE, 3),
    ]


def _stages(found: Findings) -> list[str]:
    return [
        "## Table 1: the first stage\n",
        tables.first_stages(found.simulated),
        "## Table 2: reranked\n",
        prose(texts.STAGES, marco=RELEVANT["MARCO"], quora=RELEVANT["Quora"]),
        tables.reranked(found.simulated),
        details(
            "How the simulated systems were tuned, and how near they came",
            prose(texts.TUNED) + "\n" + tables.tuned(found.simulated),
        ),
        prose(texts.REAL_STAGES),
        tables.real_stages(found.real),
    ]


def _table_3(found: Findings) -> list[str]:
    trials = found.simulated[0].trials.trials
    errors = {"error_90": math.sqrt(0.09 / trials), "error_50": math.sqrt(0.25 / trials)}
    parts = ["## Table 3: coverage and size\n", prose(texts.TABLE_3, trials=trials, **errors)]
    for collection in COLLECTIONS:
        rows = [each for each in found.simulated if each.row.collection == collection]
        if rows:
            parts += [f"### {collection}, simulated\n", tables.table_3(rows)]
    few = min(found.real, key=lambda each: each.queries)
    about_few = {
        "few": few.name,
        "queries": few.queries,
        "calibration": few.trials.calibration,
        "error": few.spread / math.sqrt(few.trials.calibration),
        "room": few.fused - few.target,
        "abstained": summaries(few.trials)[AT_LEAST].abstained,
        "abstained_drop": summaries(few.trials)[drop_name(SMALL_DROP)].abstained,
    }
    return [*parts, "### Real tables\n", prose(texts.REAL_TABLE_3, **about_few), tables.real_table_3(found.real)]


def _figure(figure: Figure) -> str:
    parts = (
        f"### {figure.title}\n",
        prose("{caption}", caption=figure.caption),
        f"![{figure.description}]({FIGURES}/{figure.name}.svg)\n",
        details("The numbers", table(figure.heads, figure.rows, figure.left)),
    )
    return "\n".join(parts)


def _smallest_bound(found: Findings) -> float | None:
    """The mean over trials of the smallest bound, for the hardest target; None if all of them reach it."""
    return max(found.sweep, key=lambda point: point.target).smallest_bound


def _about_smallest_bound(found: Findings) -> str:
    here = _smallest_bound(found)
    if here is None:
        return ""
    risk, room = 1 - SWEEP_ROW.reranked, SWEEP_ROW.methods["CEC"].measure - SWEEP_ROW.target
    return prose(
        texts.SMALLEST_BOUND,
        here=here,
        published=SMALLEST_BOUND,
        reranked=SWEEP_ROW.reranked,
        risk=risk,
        room=room,
        together=risk + room,
    )


def _wrong(found: Findings) -> list[str]:
    return [
        "## What the paper gets wrong\n",
        prose(texts.WRONG, chance=round(1 / CHANCE)),
        "### The loss is not monotone\n",
        wrong_words.monotone_section(found.monotone),
        "### The bound as printed\n",
        wrong_words.printed_section(found.printed),
        "### The corrections\n",
        wrong_words.corrections_section(found.corrections),
        "### Coverage on a batch is not coverage of the truth\n",
        wrong_words.batches_section(found.batches),
    ]


def _rest() -> list[str]:
    ways = (("runs", texts.RUNS, commands.run_commands), ("recipes", texts.RECIPES, commands.recipe_commands))
    parts = ["## To fill in the rest\n"]
    for name, words, lines in ways:
        parts.append(prose(words))
        parts += [details(f"{each}, from {name}", code("bash", lines(each))) for each in COLLECTIONS]
    return parts
