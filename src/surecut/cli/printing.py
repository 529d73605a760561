"""How certificates and counts look in a terminal."""

import json
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any

from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from surecut.certificate import Certificate
from surecut.counting import thin_judgements

EXIT = {"certified": 0, "relaxed-target": 3, "relaxed-confidence": 3, "uncertified": 3, "abstained": 4}
_COLOURS = {"certified": "green", "abstained": "red"}
_NO_LIMIT = 10_000
_TAILS = {"drop": "dropped", "append": "appended"}


def forget(stream: IO[str]) -> None:
    """What is still to be written there cannot be, and need not be."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextmanager
def reader_may_leave() -> Iterator[None]:
    """A verb whose reader went away (`| head`) goes on in silence, and ends with the status that is its own."""
    try:
        yield
    except BrokenPipeError:
        forget(sys.stdout)


class _Console(Console):
    """The same for what is printed here."""

    def on_broken_pipe(self) -> None:
        forget(self.file)


out = _Console(highlight=False)
err = _Console(stderr=True, highlight=False)


@contextmanager
def own_stderr() -> Iterator[Console]:
    """`err` on a copy of standard error, for what is shown while readers work: they may put that aside."""
    try:
        copy = os.dup(sys.stderr.fileno())
    except (OSError, ValueError, AttributeError):  # not a file
        yield err
        return
    with open(copy, "w") as file:
        yield _Console(file=file, highlight=False)


def print_whole(table: Table) -> None:
    """Print a table that needs more room than there is at the width it needs: no digit is left out."""
    needed = out.measure(table, options=out.options.update_width(_NO_LIMIT)).maximum
    _Console(highlight=False, width=max(out.width, needed)).print(table)


def this_command() -> str:
    """The command line as it was typed, ready to be typed again."""
    return shlex.join(["surecut", *sys.argv[1:]])


def print_text(text: str) -> None:
    """Plain text, as it is."""
    with reader_may_leave():
        print(text, end="", flush=True)


def print_json(record: Any) -> None:
    print_text(as_json(record) + "\n")


def as_json(record: Any) -> str:
    return json.dumps(record, indent=2, ensure_ascii=False)


def print_certificate(certificate: Certificate, ms_per_pair: float | None = None) -> None:
    """Statement and figures."""
    colour = _COLOURS.get(certificate.status, "yellow")
    out.print(Panel(Text(certificate.statement), title=certificate.status, border_style=colour, title_align="left"))
    facts = certificate.calibration
    rows = Table.grid(padding=(0, 2))
    rows.add_row("rule", f"{rule_in_words(certificate)}, {threshold_in_words(certificate)}")
    if certificate.fusion["beta"]:
        rows.add_row(
            "fusion", f"{certificate.fusion['beta']:.6g} x retriever + {1 - certificate.fusion['beta']:.6g} x reranker"
        )
    rows.add_row(
        "kept",
        f"{certificate.mean_kept:,.1f} of {facts['mean_candidates']:,.1f} on average, "
        f"{certificate.speedup:,.1f} x fewer",
    )
    tail = facts["kept_quantiles"]
    rows.add_row("", f"p50 {tail['p50']:,}   p95 {tail['p95']:,}   p99 {tail['p99']:,}")
    rows.add_row(
        Text(certificate.measure),
        f"{facts['mean_full']:.4f} with everything reranked, {facts['mean_pruned']:.4f} pruned "
        f"(losses alone: {facts['mean_loss_only']:.4f})",
    )
    rows.add_row(
        "test",
        f"{'none' if certificate.procedure in ('est', 'ert') else certificate.test} ({certificate.procedure}), "
        f"{facts['units']:,} independent queries or groups, pruned documents are {_TAILS[certificate.tail]}",
    )
    if certificate.tune is not None:
        rows.add_row(
            "tuned on",
            Text(
                f"{certificate.tune['queries']:,} queries ({certificate.tune['source']}): "
                f"{', '.join(certificate.tune['for'])}"
            ),
        )
    if ms_per_pair is not None:
        full, pruned = facts["mean_candidates"] * ms_per_pair, certificate.mean_kept * ms_per_pair
        rows.add_row(
            "reranking",
            f"{full:,.0f} ms a query becomes {pruned:,.0f} ms (p99 {tail['p99'] * ms_per_pair:,.0f} ms)",
        )
    out.print(rows)


def rule_in_words(certificate: Certificate) -> str:
    inside = ", ".join(f"{name}={value:g}" for name, value in certificate.rule["parameters"].items())
    return f"{certificate.rule['name']}({inside})" if inside else str(certificate.rule["name"])


def threshold_in_words(certificate: Certificate) -> str:
    if certificate.threshold == float("-inf"):
        return "no threshold (keeps everything)"
    if certificate.threshold == float("inf"):
        return f"threshold above every key (keeps {certificate.min_keep})"
    if certificate.rule["name"] == "rank":
        return f"top {int(-certificate.threshold):,}"
    return f"threshold {certificate.threshold:.6g}"


def print_census(counts: dict[str, Any]) -> None:
    """The four counts, and a warning where the judgements are thin."""
    lines = [
        f"{counts['queries']:,} queries, {counts['candidates']:,} candidates; "
        + (
            f"left out: {counts['unjudged_queries']:,} not judged, "
            f"{counts['absent_queries']:,} judged but not in the run; "
            f"kept as 0: {counts['queries_without_relevant']:,} with no relevant document, "
            + (f"{counts['absent_as_zero']:,} not in the run, " if counts["absent_as_zero"] else "")
            + f"{counts['negative_grades']:,} negative grades"
            if counts["judgements_used"]
            else "no judgements needed"
        )
    ]
    if counts["extra_reranked"]:
        extra = f"{counts['extra_reranked']:,} reranker scores"
        lines.append(f"{extra} are of documents that are no candidates, or were cut off, and were ignored")
    if counts["filled_reranked"]:
        lines.append(f"{counts['filled_reranked']:,} candidates without a reranker score were placed last")
    if (thin := thin_judgements(counts)) is not None:
        lines.append(f"[yellow]warning:[/] {thin}")
    for line in lines:
        err.print(line, style="dim", soft_wrap=True)
