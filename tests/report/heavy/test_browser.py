"""The page in a real browser: silent, offline, alive, in two themes, on a phone and on paper."""

import pytest
from axe_playwright_python.sync_playwright import Axe

from surecut.report.contents import CELL_TITLES, cell_of
from surecut.report.gathering import gather
from tests.report.making import CASES, DATA, HELD_OUT, assessed, certificate, report

pytestmark = pytest.mark.heavy


@pytest.mark.parametrize("name", CASES)
def test_the_page_loads_silently_and_asks_for_nothing(opened, name):
    seen = opened(report(name))
    assert seen.said == []
    assert seen.asked == [seen.address]
    assert seen.page.inner_text("h1") == certificate(name).statement
    for chart in seen.page.query_selector_all(".chart"):
        assert chart.query_selector("svg") is not None
        assert chart.bounding_box()["height"] > 200


def test_the_explorer_shows_the_librarys_numbers_wherever_it_is_moved(opened):
    found = report("drop")
    page, explorer = opened(found).page, found.explorer
    seen = set()
    for c in range(len(explorer.confidences)):
        for t in range(len(explorer.targets)):
            page.fill("#confidence", str(c))
            page.fill("#target", str(t))
            for column in ("alone", "divided"):
                cell = cell_of(found, getattr(explorer, column)[c][t])
                shown = {name: page.inner_text(f"#{column}-{name}") for name in CELL_TITLES}
                assert shown == {name: getattr(cell, name) for name in CELL_TITLES}
                seen.add(tuple(shown.values()))
    assert len(seen) > len(explorer.targets), "it must change when it is moved"


def test_the_explorer_works_from_the_keyboard_and_says_where_it_stands(opened):
    found = report("drop")
    page, explorer = opened(found).page, found.explorer
    c, t = explorer.own
    assert page.inner_text("#explored") == "This is the certificate itself."
    assert page.is_disabled("#back")
    page.focus("#target")
    page.keyboard.press("ArrowRight")
    assert page.inner_text("#alone-kept") == cell_of(found, explorer.alone[c][t + 1]).kept
    assert page.get_attribute("#target", "aria-valuetext") == found.quantity.target(explorer.targets[t + 1])
    assert page.inner_text("#explored") == "Not the certificate of this report."
    page.click("#back")
    assert page.inner_text("#alone-kept") == cell_of(found, explorer.alone[c][t]).kept


def test_a_figure_shows_exact_values_on_hover(opened):
    found = report("drop")
    page = opened(found).page
    chart = page.locator("#chart-kept-sizes svg")
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    tooltip = page.locator("#vg-tooltip-element.visible")
    for step in range(2, 40):
        page.mouse.move(box["x"] + box["width"] * step / 40, box["y"] + box["height"] * 0.78)
        if tooltip.count():
            break
    words = tooltip.inner_text()
    assert "candidates kept" in words
    assert any(f"{bar.queries:,}" in words for bar in found.sizes.bars)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_themes_render_and_the_button_changes_them(opened, scheme):
    page = opened(report("drop"), scheme=scheme).page
    colours = "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"
    line = "getComputedStyle(document.querySelector('.chart svg path[stroke^=var]')).stroke"
    background, ink = page.evaluate(colours)
    drawn = page.evaluate(line)
    assert is_light(background) == (scheme == "light")
    assert contrast(background, ink) > 7
    assert contrast(background, drawn) > 3
    page.click("#theme")
    assert is_light(page.evaluate(colours)[0]) == (scheme == "dark")
    assert page.evaluate(line) != drawn


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["drop", "relaxed target", "EST", "abstained"])
def test_nobody_is_shut_out(opened, name, scheme):
    """axe-core looks for what keys, screen readers and weak eyes stumble over."""
    page = opened(report(name), scheme=scheme, bypass_csp=True).page
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


@pytest.mark.parametrize("name", ["drop", "several starts", "agreement", "relaxed confidence", "published"])
def test_nothing_overflows_on_a_phone(opened, name):
    page = opened(report(name), width=390).page
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    for element in page.query_selector_all("summary"):
        element.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate(CLIPPED) == []


def test_a_check_and_a_fixed_cut_have_their_pages_too(opened):
    assert "Not contradicted." in opened(gather(certificate("drop"), DATA, held_out=HELD_OUT)).page.inner_text("#check")
    fixed = opened(assessed())
    assert fixed.said == []
    assert fixed.page.locator("#target").count() == 0


def test_it_prints_in_light_colours_and_within_the_paper(opened):
    page = opened(report("drop"), scheme="dark").page
    page.emulate_media(media="print")
    assert is_light(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert page.pdf(format="A4").startswith(b"%PDF")
    page.set_viewport_size({"width": 690, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= 690


def test_without_scripts_the_numbers_are_still_there(opened):
    page = opened(report("drop"), java_script_enabled=False).page
    assert "the table below holds the same numbers" in page.content()
    explorer = report("drop").explorer
    rows = page.locator("section[aria-labelledby=explorer-title] details tbody tr").count()
    assert rows == len(explorer.targets) * len(explorer.confidences)


CLIPPED = """() => [...document.querySelectorAll('.chart')].flatMap(chart => {
  const outer = chart.getBoundingClientRect();
  return [...chart.querySelectorAll('svg text')].map(text => [text.textContent, text.getBoundingClientRect()])
    .filter(([words, box]) => words && box.width && (box.right > outer.right + 2 || box.left < outer.left - 2))
    .map(([words]) => words);
})"""
"""Texts of charts that stick out of them."""


def channels(colour: str) -> list[float]:
    return [float(part) for part in colour.split("(")[1].rstrip(")").split(",")[:3]]


def is_light(colour: str) -> bool:
    mean = sum(channels(colour)) / 3
    assert not 60 < mean < 200, f"{colour} is neither light nor dark"
    return mean > 200


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG 2."""

    def luminance(colour: str) -> float:
        linear = [
            c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in (x / 255 for x in channels(colour))
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)
