"""From a certificate and its data to a file: a page, Markdown or JSON, and figures beside it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from surecut.candidates import Candidates
from surecut.certificate import Certificate
from surecut.errors import InputError
from surecut.files import write_atomically
from surecut.registry import unknown
from surecut.report.drawing import write_figures
from surecut.report.gathering import Report, gather
from surecut.report.markdown import as_markdown
from surecut.report.page import as_html


def as_json(report: Report) -> str:
    return json.dumps(report.to_dict(), indent=2, ensure_ascii=False) + "\n"


FORMATS: dict[str, Callable[[Report], str]] = {"html": as_html, "md": as_markdown, "json": as_json}


def write_report(
    certificate: Certificate,
    data: Candidates,
    path: str | Path,
    *,
    held_out: Candidates | None = None,
    figures: str | Path | None = None,
    **options: Any,
) -> Report:
    """Write what a certificate and its data say, as a page (`.html`), as Markdown (`.md`) or as JSON.

    `data` is what the certificate was calibrated on; `held_out`, other queries to check the claim on. `figures`
    names a folder for PNG and SVG files. Further options are those of `gather` (`ms_per_pair`, `command`) and of
    `rederive` (`tune`, `tune_fraction`, `max_keep`, `loss`, `measure`, `any_system`).

    >>> write_report(cert, data, "report.html", held_out=other)  # doctest: +SKIP
    """
    if not isinstance(certificate, Certificate):
        raise InputError(f"a report needs a certificate, not {type(certificate).__name__}: see load_certificate")
    form = format_of(path)
    report = gather(certificate, data, held_out=held_out, **options)
    write_atomically(path, FORMATS[form](report))
    if figures is not None:
        write_figures(report, figures)
    return report


def format_of(path: str | Path) -> str:
    """The format that a file's name asks for."""
    suffix = Path(path).suffix.lower().removeprefix(".")
    form = {"htm": "html", "markdown": "md"}.get(suffix, suffix)
    if form not in FORMATS:
        raise InputError(f"{path}: {unknown('format', suffix, list(FORMATS))}; name the file .html, .md or .json")
    return form
