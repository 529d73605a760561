"""Tests that need a browser: Debian's Chromium, driven by Playwright."""

import shutil
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest

from surecut.report.gathering import Report
from surecut.report.page import as_html

FLAGS = (
    "--no-sandbox",  # as root there is none to be had
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    """Without Playwright, or where heavy tests are left out, their modules are not even imported."""
    return True if find_spec("playwright") is None or "not heavy" in config.getoption("markexpr") else None


@pytest.fixture(scope="session")
def browser():
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    assert chromium is not None, "there is no Chromium: make system installs it"
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        yield started
        started.close()


@pytest.fixture
def opened(browser, tmp_path: Path) -> Iterator[Callable[..., SimpleNamespace]]:
    """Write a report, open it from disk, and listen to what the browser says about it."""
    contexts = []

    def opening(report: Report, width: int = 1200, scheme: str = "light", **settings) -> SimpleNamespace:
        path = tmp_path / "report.html"
        path.write_text(as_html(report), encoding="utf-8")
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce", **settings
        )
        contexts.append(context)
        page = context.new_page()
        said: list[str] = []
        asked: list[str] = []
        page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: said.append(f"error: {error}"))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        if settings.get("java_script_enabled", True):
            page.wait_for_selector("html[data-drawn]", state="attached")
        return SimpleNamespace(page=page, said=said, asked=asked, address=path.as_uri())

    yield opening
    for context in contexts:
        context.close()
