"""Ray on this machine alone, for the tests that need it."""

import os

import pytest

# Ray would look for an address that other machines could reach; here everything stays on loopback.
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"


@pytest.fixture(scope="session")
def ray():
    """One that is started with the first test and stopped with the last."""
    library = pytest.importorskip("ray")
    library.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    yield library
    library.shutdown()
