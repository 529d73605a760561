"""What tests of several packages share."""

import os
import shutil
import sys
from typing import Any

import pytest

from tests.browsing import FLAGS

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "false"  # of a library that the tests import

_LOOPBACK = (None, "", "localhost", "::1", "0.0.0.0")
_asked_for: list[str] = []


def _note_hosts(event: str, details: tuple[Any, ...]) -> None:
    """Every host that this process looks up or connects to, whichever library does."""
    if event == "socket.getaddrinfo":
        host = details[0]
    elif event == "socket.connect" and isinstance(details[1], tuple):
        host = details[1][0]
    else:
        return
    if isinstance(host, bytes):
        host = host.decode()
    if host not in _LOOPBACK and not host.startswith("127."):
        _asked_for.append(host)


sys.addaudithook(_note_hosts)


@pytest.fixture(autouse=True)
def only_loopback():
    """Tests talk to nobody else."""
    yield
    hosts = [*_asked_for]
    _asked_for.clear()
    assert not hosts, f"asked for {', '.join(hosts)}, while this test ran"


@pytest.fixture(scope="session")
def browser():
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    assert chromium is not None, "there is no Chromium: make system installs it"
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        yield started
        started.close()
