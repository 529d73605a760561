"""The comment of a snippet: which certificate it executes, and what it leaves to the reader."""

import textwrap

from surecut.certificate import Certificate
from surecut.export.cut import Cut
from surecut.measures import cutoff_of

TIES = "Equal scores keep the order the engine gives them."

_WIDTH = 100
_SHOWN = 10


def about(certificate: Certificate, cut: Cut, *notes: str) -> list[str]:
    """Lines about the certificate, its cut, and whatever else is to be known."""
    paragraphs = [
        f"surecut certificate {certificate.digest} ({certificate.status})",
        certificate.statement,
        f"{in_words(cut)} Scores are those of the retriever it was calibrated with.",
        *notes,
    ]
    return [line for each in paragraphs for line in textwrap.wrap(each, _WIDTH, break_long_words=False)]


def in_words(cut: Cut) -> str:
    """What is reranked, as a sentence."""
    if not cut.prunes:
        return f"It reranks all of the first {cut.depth:,} candidates."
    if cut.least is None and cut.window == 1:
        return "It keeps the first candidate only, so there is nothing left to rerank."
    if cut.least is None:
        return f"It reranks the first {cut.window:,} candidates."
    what = "lie within a distance of the best score" if cut.from_best else "reach the least score"
    at_least = f", and always the first {cut.min_keep:,}" if cut.min_keep else ""
    return f"It reranks those of the first {cut.window:,} candidates that {what}{at_least}."


def least_shown(certificate: Certificate, listed: int) -> int:
    """How many of the `listed` results an answer must hold, for the measure to see what it looks at."""
    cutoff = cutoff_of(certificate.measure)
    return listed if cutoff is None else min(cutoff, listed)


def shown(certificate: Certificate, listed: int) -> int:
    """How many results a request asks for: a page of ten, or more where the measure looks further."""
    return max(least_shown(certificate, listed), min(_SHOWN, listed))


def not_below(setting: str, certificate: Certificate, listed: int) -> str:
    """The same as a sentence about the engine's setting."""
    least = least_shown(certificate, listed)
    return f"{setting} must be at least {least:,}, or {certificate.measure} is that of another list."


def commented(mark: str, lines: list[str]) -> str:
    return "".join(f"{mark} {line}\n" for line in lines)
