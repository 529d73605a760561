"""The report as one self-contained HTML file: no network, two themes, a table behind every figure."""

from base64 import b64encode
from dataclasses import asdict
from hashlib import sha256
from importlib.resources import files
from typing import Any

from surecut.extras import needed
from surecut.report.contents import (
    CELL_TITLES,
    WORST_COLUMNS,
    cell_of,
    explored,
    explored_columns,
    facts_of,
    sheet_of,
    thin_judgements_of,
    verdict_of,
    worst_caption,
    worst_rows,
)
from surecut.report.explorer import Explorer
from surecut.report.figures import make_figures
from surecut.report.gathering import Report
from surecut.report.palette import PAGE
from surecut.report.quantities import confidence_shown
from surecut.report.wording import BOUND_NOTE, claim_of, explorer_caveat, promise_of, standing_of

_NARROW = ("kept-sizes", "changes")  # figures that stand side by side


def as_html(report: Report) -> str:
    """The page; the same report gives the same bytes."""
    jinja2, vega = needed("jinja2", "report"), needed("vl_convert", "report")
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined)
    safe = environment.filters["safe"]
    figures, scripts = make_figures(report, PAGE), (vega.javascript_bundle(), _file("page.js"))
    certificate, promise = report.certificate, promise_of(report.certificate)
    explorer = None if report.explorer is None else _explorer(report, report.explorer)
    charts = {figure.name: _drawn(figure.chart) for figure in figures}
    html: str = environment.from_string(_file("page.html.jinja")).render(
        certificate=certificate,
        standing=standing_of(certificate),
        claim=claim_of(certificate),
        facts=facts_of(report),
        check=verdict_of(report),
        promise=(
            ("It promises", promise.promises),
            ("It does not promise", promise.does_not),
            ("What would void it", promise.voids),
        ),
        explorer=explorer,
        queries=f"{report.data.queries:,}",
        wide=[figure for figure in figures if figure.name not in _NARROW],
        narrow=[figure for figure in figures if figure.name in _NARROW],
        worst={"caption": worst_caption(report), "columns": WORST_COLUMNS, "rows": worst_rows(report)},
        warning=thin_judgements_of(report),
        sheet=sheet_of(report),
        command=report.command,
        json=certificate.to_json(),
        payload={"charts": charts, "explorer": None if explorer is None else explorer["payload"]},
        css=safe(_file("page.css")),
        scripts=[safe(script) for script in scripts],
        allowed=safe(" ".join(_digest(script) for script in scripts)),
    )
    return html


def _digest(script: str) -> str:
    """How a content security policy names the one script it allows."""
    return f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'"


def _file(name: str) -> str:
    return files("surecut.report").joinpath("template", name).read_text(encoding="utf-8")


def _drawn(chart: Any) -> dict[str, Any]:
    """A chart as wide as the page has room for."""
    spec: dict[str, Any] = chart.properties(
        width="container", autosize={"type": "fit-x", "contains": "padding"}
    ).to_dict()
    return spec


def _explorer(report: Report, explorer: Explorer) -> dict[str, Any]:
    """What the explorer's part of the page shows, and what its script puts in place."""
    titles = {**CELL_TITLES, "bound": report.quantity.bound}
    shown = {
        "targets": [report.quantity.target(value) for value in explorer.targets],
        "confidences": [confidence_shown(value) for value in explorer.confidences],
        "divided_confidences": [confidence_shown(value) for value in explorer.divided_confidences],
        "own": explorer.own,
    }
    cells = {
        column: [[asdict(cell_of(report, outcome)) for outcome in row] for row in rows]
        for column, rows in (("alone", explorer.alone), ("divided", explorer.divided))
    }
    return {
        **shown,
        "payload": {**shown, **cells},
        "quantity": f"{report.quantity.name} {report.quantity.claim}",
        "caveat": explorer_caveat(report.certificate),
        "bound_note": BOUND_NOTE,
        "rows": list(titles.items()),
        "columns": explored_columns(report),
        "cells": explored(report, explorer),
    }
