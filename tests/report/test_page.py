"""The page as a file: complete, self-contained, the same for the same data, and safe whatever a query is called."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

import surecut as sc
from surecut.report.contents import cell_of, facts_of, sheet_of, verdict_of, worst_caption
from surecut.report.figures import make_figures
from surecut.report.gathering import gather
from surecut.report.page import as_html
from surecut.report.palette import PAGE
from surecut.report.wording import GRID_CAVEAT, STANDINGS
from tests.report.making import CASES, DATA, HELD_OUT, WHOLE, assessed, certificate, report

MOST_BYTES = 6_000_000


class Outline(HTMLParser):
    """Elements with their attributes, and the text of the page without scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.scripts: list[str] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag in ("script", "style"):
            self._open.append(tag)
            self.scripts.append("")

    def handle_endtag(self, tag):
        if self._open and self._open[-1] == tag:
            self._open.pop()

    def handle_data(self, text):
        if self._open:
            self.scripts[-1] += text
        else:
            self.words += text

    def payload(self):
        places = [attributes.get("id") for tag, attributes in self.elements if tag in ("script", "style")]
        return json.loads(self.scripts[places.index("data")])


def policy_of(page: Outline) -> str:
    return next(a["content"] for tag, a in page.elements if tag == "meta" and "http-equiv" in a)


def outline(name: str) -> Outline:
    return Outline(as_html(report(name)))


@pytest.mark.parametrize("name", CASES)
def test_every_certificate_has_a_page(name):
    page = outline(name)
    words = " ".join(page.words.split())
    assert certificate(name).statement in words
    assert STANDINGS[certificate(name).status].badge in words
    for fact in facts_of(report(name)):
        assert fact.value in words
    for title, value in sheet_of(report(name)):
        assert title in words
        assert " ".join(value.split()) in words
    assert "What would void it" in words
    assert (GRID_CAVEAT in words) == (certificate(name).status != "uncertified")


def test_a_page_is_self_contained_and_small():
    html = as_html(report("drop"))
    page = Outline(html)
    assert len(html.encode()) < MOST_BYTES
    for tag, attributes in page.elements:
        for name in ("src", "href", "action", "data"):
            assert (attributes.get(name) or "data:,").startswith("data:"), (tag, attributes)
    assert policy_of(page).startswith("default-src 'none'")
    assert not re.search(r"url\(|@import", html.split("</style>")[0])


def test_the_same_report_is_the_same_bytes():
    again = gather(certificate("drop"), DATA)
    assert as_html(again) == as_html(report("drop"))


@pytest.mark.parametrize("name", ["drop", "abstained", "rank"])
def test_every_figure_has_words_and_a_table(name):
    html, page = as_html(report(name)), outline(name)
    charts = page.payload()["charts"]
    figures = make_figures(report(name), PAGE)
    assert set(charts) == {figure.name for figure in figures}
    images = {a["id"]: a["aria-label"] for tag, a in page.elements if a.get("role") == "img"}
    for figure in figures:
        assert images[f"chart-{figure.name}"] == figure.description
        part = html.split(f'<figure id="{figure.name}"')[1].split("</figure>")[0]
        assert part.count("<tr>") == len(figure.rows) + 1
        assert len(figure.rows) > 0


@pytest.mark.parametrize("name", CASES)
def test_the_explorer_holds_the_cells_of_the_library(name):
    found, payload = report(name), outline(name).payload()["explorer"]
    for column in ("alone", "divided"):
        for shown, cells in zip(payload[column], getattr(found.explorer, column), strict=True):
            for cell, outcome in zip(shown, cells, strict=True):
                assert cell["kept"] == cell_of(found, outcome).kept
                assert cell["threshold"] == cell_of(found, outcome).threshold
    assert tuple(payload["own"]) == found.explorer.own


def test_a_cut_fixed_in_advance_has_no_explorer():
    page = Outline(as_html(assessed()))
    assert page.payload()["explorer"] is None
    assert "Explorer" not in page.words


def test_what_is_not_certified_is_said_beside_the_explorer():
    assert "no cell is a certificate" in outline("EST").words
    assert "no cell is a certificate" in outline("published").words
    assert "asymptotic" in outline("clt").words


def test_a_check_is_shown():
    words = Outline(as_html(gather(certificate("drop"), DATA, held_out=HELD_OUT))).words
    assert "Not contradicted." in words
    assert f"on {len(HELD_OUT)} queries" in words
    assert "On queries it has not seen" in words


@pytest.mark.parametrize("name", ["drop", "fitted"])
def test_the_calibration_queries_are_no_independent_check(name):
    words = Outline(as_html(gather(certificate(name), DATA, held_out=DATA))).words
    assert "The certificate was made from all of these queries itself." in words
    assert "has not seen" not in words
    assert "Not contradicted." not in words


def test_some_calibration_queries_among_the_held_out_ones_are_counted():
    mixed = WHOLE.select([*HELD_OUT.query_ids, *DATA.query_ids[:7]])
    found = gather(certificate("drop"), DATA, held_out=mixed)
    assert found.seen == 7
    assert f"made from 7 of these {len(mixed)} queries" in Outline(as_html(found)).words


def test_a_contradiction_is_shown_as_one():
    worse = replace(HELD_OUT, grades=np.where(np.arange(HELD_OUT.grades.size) % 40 == 39, 1, 0).astype(np.int32))
    deep = np.where(worse.grades > 0, worse.reranker.max() + 1, worse.reranker)
    found = verdict_of(gather(certificate("drop"), DATA, held_out=replace(worse, reranker=deep)))
    assert (found.tone, found.verdict) == ("bad", "Contradicted by these queries.")
    assert verdict_of(gather(certificate("drop"), DATA, held_out=HELD_OUT)).tone == "good"


def test_savings_in_the_users_units():
    found = gather(certificate("drop"), DATA, ms_per_pair=6.7)
    words = Outline(as_html(found)).words
    assert f"{6.7 * certificate('drop').mean_kept:,.0f} ms" in words
    assert f"{6.7 * 40:,.0f} ms before" in words


def test_the_worst_hit_are_all_or_some():
    few, many = report("drop"), report("several starts")
    assert 0 < few.changes.lost <= 15 < many.changes.lost
    assert "All of them" in worst_caption(few)
    assert "The 15 that lose most" in worst_caption(many)
    assert len(many.changes.worst) == 15


def test_lists_of_one_candidate_leave_nothing_to_draw():
    data = sc.simulate(queries=100, depth=1, seed=1)
    page = Outline(as_html(gather(sc.calibrate(data, target=sc.max_drop(0.5)), data)))
    assert set(page.payload()["charts"]) == {"kept-sizes"}


def test_what_was_fitted_on_the_calibration_queries_is_said():
    assert any("of these queries (calibration)" in value for _, value in sheet_of(report("published")))
    assert any("other queries (fold)" in value for _, value in sheet_of(report("fitted")))


HOSTILE = '</script><script>alert(1)</script><img src=x onerror="alert(2)">&amp;|`'


def test_no_query_can_break_out_of_the_page():
    ids = np.array([f"{HOSTILE}{place}" for place in range(len(DATA))], dtype=object)
    data = replace(DATA, query_ids=ids)
    cert = sc.calibrate(data, **CASES["drop"][1])
    page = Outline(as_html(gather(cert, data, command=f"surecut report {HOSTILE}")))
    assert sum(tag == "script" for tag, _ in page.elements) == 3
    assert "'unsafe-inline'" not in policy_of(page).split("script-src")[1].split(";")[0]
    assert not any(tag == "img" for tag, _ in page.elements)
    assert HOSTILE in page.words
