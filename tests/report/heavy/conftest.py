"""Reports, opened in a browser."""

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from surecut.report.gathering import Report
from surecut.report.page import as_html
from tests.browsing import without_browser


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    return without_browser(config)


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
