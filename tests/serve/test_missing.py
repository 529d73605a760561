"""Without their libraries, the service and the monitor say which extra to install."""

import importlib
import sys

import pytest

from surecut.extras import MissingExtra

MODULES = {
    "surecut.monitoring.store": ("sqlalchemy", "monitor"),
    "surecut.monitoring.feedback": ("msgspec", "monitor"),
    "surecut.serve.messages": ("msgspec", "serve"),
    "surecut.serve.metrics": ("prometheus_client", "serve"),
    "surecut.serve.describing": ("fastapi", "serve"),
    "surecut.serve.running": ("uvicorn", "serve"),
}


@pytest.mark.parametrize("name", MODULES)
def test_the_extra_is_named(name, monkeypatch):
    library, extra = MODULES[name]
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delitem(sys.modules, name, raising=False)
    with pytest.raises(MissingExtra, match=rf"pip install 'surecut\[{extra}\]'"):
        importlib.import_module(name)


def test_postgresql_names_its_own(monkeypatch):
    from surecut.monitoring.store import Store

    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtra, match=r"pip install 'surecut\[postgres\]'"):
        Store("postgresql://somebody@localhost/monitor")
