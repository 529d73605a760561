"""The report as Markdown, short enough for a pull request: the details fold away."""

from collections.abc import Iterable

from surecut.markdown import pipe_table, plain
from surecut.report.contents import (
    WORST_COLUMNS,
    explored,
    explored_columns,
    facts_of,
    sheet_of,
    thin_judgements_of,
    verdict_of,
    worst_caption,
    worst_rows,
)
from surecut.report.figures import marks_of
from surecut.report.gathering import Report
from surecut.report.wording import BOUND_NOTE, explorer_caveat, promise_of, standing_of


def as_markdown(report: Report) -> str:
    """Statement, numbers, what it promises; then the explorer's row, the worst-hit queries and the data."""
    return "\n\n".join((*_head(report), *_folded(report))) + "\n"


def _head(report: Report) -> Iterable[str]:
    certificate = report.certificate
    standing = standing_of(certificate)
    yield f"### {standing.sign} surecut: {standing.badge}"
    yield f"> {plain(certificate.statement)}"
    yield pipe_table(("", "", ""), [(fact.name, fact.value, fact.beside) for fact in facts_of(report)], left=3)
    check = verdict_of(report)
    if check is not None:
        yield f"**{check.title}: {check.verdict}** {plain(check.sentence)}"
    warning = thin_judgements_of(report)
    if warning is not None:
        yield f"**Mind the judgements:** {warning}."


def _folded(report: Report) -> Iterable[str]:
    promise = promise_of(report.certificate)
    for title, lines in (
        ("What it promises", promise.promises),
        ("What it does not promise", promise.does_not),
        ("What would void it", promise.voids),
    ):
        yield _details(title, "\n".join(f"- {plain(line)}" for line in lines))
    if report.explorer is not None:
        notes = (explorer_caveat(report.certificate).text, BOUND_NOTE)
        rows = explored(report, report.explorer, report.explorer.own[0])
        table = pipe_table(explored_columns(report), rows)
        yield _details("Other targets", "\n\n".join((*notes, table)))
    marks = [(m.name, f"{m.point.mean_kept:,.1f}", f"{m.point.measured:.4f}") for m in marks_of(report)]
    compared = pipe_table(("", "mean kept", report.certificate.measure), marks)
    yield _details("Beside EST, ERT and no pruning", f"On the calibration queries.\n\n{compared}")
    if worst := worst_rows(report):
        table = pipe_table(WORST_COLUMNS, worst)
        yield _details("Worst-hit queries", f"{worst_caption(report)}\n\n{table}")
    made = "" if report.command is None else f"\n\n```sh\n{report.command}\n```"
    yield _details("The data and the certificate", pipe_table(("", ""), sheet_of(report), left=2) + made)


def _details(title: str, inside: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{inside}\n\n</details>"
