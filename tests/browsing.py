"""A real browser for tests: Debian's Chromium, driven by Playwright."""

from importlib.util import find_spec

import pytest

FLAGS = (
    "--no-sandbox",  # as root there is none to be had
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


def without_browser(config: pytest.Config) -> bool | None:
    """Without Playwright, or where heavy tests are left out, their modules are not even imported."""
    return True if find_spec("playwright") is None or "not heavy" in config.getoption("markexpr") else None
