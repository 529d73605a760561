"""A real PostgreSQL with pgvector, started for these tests and stopped after them."""

from importlib.util import find_spec


def pytest_ignore_collect(config):
    """Without PostgreSQL's wheel, or where heavy tests are left out, their modules are not even imported."""
    return True if find_spec("pgserver") is None or "not heavy" in config.getoption("markexpr") else None
