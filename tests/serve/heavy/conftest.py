"""The live page, opened in a browser."""

from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

from tests.browsing import without_browser


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    return without_browser(config)


@pytest.fixture
def opened(browser) -> Iterator[Callable[..., SimpleNamespace]]:
    """Open a page of a running service, and listen to what the browser says about it."""
    contexts = []

    def opening(url: str, width: int = 1200, scheme: str = "light") -> SimpleNamespace:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page, said, asked = context.new_page(), [], []
        page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: said.append(f"error: {error}"))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(url)
        return SimpleNamespace(page=page, said=said, asked=asked)

    yield opening
    for context in contexts:
        context.close()
