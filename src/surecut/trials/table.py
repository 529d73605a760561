"""The trials as a table: cells once, then Markdown, LaTeX or CSV."""

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields

from surecut.markdown import pipe_table, plain
from surecut.trials.outcome import Block, Summary, Trials

_LATEX = str.maketrans({c: f"\\{c}" for c in "%&_#${}"} | {"\\": r"\textbackslash{}", "^": r"\^{}", "~": r"\~{}"})


def headings(trials: Trials) -> list[str]:
    """The columns; with several claims in one table each row names its own."""
    claim = ["claim"] if several_claims(trials) else []
    measure = "measure" if several_claims(trials) else trials.measure
    return [
        "method",
        *claim,
        measure,
        "confidence",
        "coverage, batch",
        "coverage, truth",
        "size, mean",
        "size, median",
        "abstained",
        "speed-up",
    ]


def cells(trials: Trials, row: Summary) -> list[str]:
    """One method's line."""
    claim = [row.claim] if several_claims(trials) else []
    return [
        row.method,
        *claim,
        f"{row.measure:.4f}",
        "-" if row.confidence is None else f"{row.confidence:.3f}",
        f"{row.batch_coverage:.3f}",
        f"{row.true_coverage:.3f}",
        f"{row.mean_size:,.1f}",
        f"{row.median_size:,.1f}",
        f"{row.abstained:.0%}",
        f"{row.speedup:,.1f}",
    ]


def several_claims(trials: Trials) -> bool:
    return len({row.claim for block in trials.blocks for row in block.methods}) > 1


def title(block: Block) -> str:
    """What was calibrated and tested on what."""
    if block.in_domain:
        return f"calibrated and tested on {block.tested_on}"
    return f"calibrated on {block.calibrated_on}, tested on {block.tested_on}"


def notes(trials: Trials) -> list[str]:
    """What has to be known to read the table, and to run it again."""
    claim = trials.blocks[0].methods[0].claim
    wanted = [] if several_claims(trials) else [f"Claim: {claim}."]
    asked = trials.confidence
    noise = (asked * (1 - asked) / trials.trials) ** 0.5
    grouped = trials.units != trials.queries
    kind = "groups of queries" if grouped else "queries"
    pool = (
        f"{trials.queries:,} queries in {trials.units:,} groups, each counting once"
        if grouped
        else f"{trials.queries:,} queries"
    )
    lines = [
        *wanted,
        f"{trials.trials:,} trial{'s' if trials.trials > 1 else ''}, {trials.calibration:,} calibration and "
        f"{trials.test:,} test {kind}, "
        f"seed {trials.seed}; a true coverage of {asked:.4g} is seen as {asked:.4g} +- {noise:.2g} (standard error).",
        f"coverage, truth: sample drawn with replacement, claim held against all {pool}; "
        f"coverage, batch: the paper's, against the test {kind} of a split, which have noise of their own. "
        "An abstention claims nothing and counts as covered; a relaxed target counts as what it was relaxed to.",
        "confidence: as promised, after the corrections of the published procedure; - promises none. "
        "size: candidates reranked for a test query, its mean and median over the trials; speed-up: all over those.",
    ]
    lines += _ends_at_the_full_list(trials)
    if len(trials.blocks) > 1:
        lines.append(
            f"{title(trials.blocks[1])}: what the paper calls out-of-domain. There only the models come from "
            "elsewhere; the calibration queries are of the kind that is tested, and the guarantee holds. The other "
            "block calibrates on queries of another kind: no guarantee covers it."
        )
        lines.append(_difference(trials))
        lines += [_overlap(trials)] if trials.shared else []
    return lines


def _ends_at_the_full_list(trials: Trials) -> list[str]:
    """Only the published procedure claims something where it could not search."""
    lines = []
    for block in trials.blocks:
        for row, outcomes in zip(block.methods, block.outcomes, strict=True):
            ended = sum(each.corrected for each in outcomes)
            if ended:
                lines.append(
                    f"{row.method}, {title(block)}: in {ended:,} of {len(outcomes):,} trials its search ended at once, "
                    "because its bound for the full list misses the target. It prunes nothing then, claims the target "
                    "all the same with the corrected confidence, and does not count as having abstained."
                )
    return lines


def _difference(trials: Trials) -> str:
    one, other = trials.blocks[0].calibrated_on, trials.blocks[0].tested_on
    if not trials.differences:
        return f"{one} and {other}: no difference was seen, which does not prove that there is none."
    return (
        f"Warning: {one} and {other} differ: {'; '.join(trials.differences)}. What is certified on the one is not "
        "certified on the other."
    )


def _overlap(trials: Trials) -> str:
    return (
        f"{trials.shared:,} queries or groups are in both; no test batch holds one that calibrates in the same trial, "
        "so it may be smaller than said."
    )


def as_markdown(trials: Trials) -> str:
    """Pipe tables, with their notes."""
    left = 2 if several_claims(trials) else 1
    parts = []
    for block in trials.blocks:
        table = pipe_table(headings(trials), [cells(trials, row) for row in block.methods], left)
        parts.append(f"**{plain(title(block))}**\n\n{table}")
    return "\n\n".join((*parts, *notes(trials))) + "\n"


def as_latex(trials: Trials) -> str:
    """A table for the package booktabs; the notes are comments."""
    heads = headings(trials)
    left = 2 if several_claims(trials) else 1
    lines = [f"% {note}" for note in (*notes(trials), r"needs \usepackage{booktabs}")]
    lines += ["\\begin{tabular}{" + "l" * left + "r" * (len(heads) - left) + "}", "\\toprule"]
    lines.append(_latex_line(heads))
    for block in trials.blocks:
        lines.append("\\midrule")
        lines.append(f"\\multicolumn{{{len(heads)}}}{{l}}{{{title(block).translate(_LATEX)}}} \\\\")
        lines += [_latex_line(cells(trials, row)) for row in block.methods]
    return "\n".join((*lines, "\\bottomrule", "\\end{tabular}")) + "\n"


def as_csv(trials: Trials) -> str:
    """Plain numbers, one line a method."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(["calibrated_on", "tested_on", *(each.name for each in fields(Summary))])
    for block in trials.blocks:
        for row in block.methods:
            writer.writerow([block.calibrated_on, block.tested_on, *asdict(row).values()])
    return written.getvalue()


def _latex_line(values: Sequence[str]) -> str:
    return " & ".join(value.translate(_LATEX) for value in values) + " \\\\"


FORMATS: dict[str, Callable[[Trials], str]] = {"md": as_markdown, "latex": as_latex, "csv": as_csv}
