"""Compiled loops: kept where there is a place for them, and compiled anyway where there is none."""

import subprocess
import sys

import surecut as sc

PROGRAM = """
import sys
import numba.core.caching as caching

caching.CacheImpl._locator_classes = []  # as for an account that can write nowhere
import surecut as sc

certificate = sc.load_certificate(sys.argv[1])
print(certificate.keep([3.0, 2.0, 1.0], any_length=True))
"""


def test_an_account_that_can_write_nowhere_compiles_anew_and_is_told_so(tmp_path):
    data = sc.simulate(queries=100, depth=10, seed=1)
    certificate = sc.calibrate(data, target=sc.max_drop(0.9), rule="score")
    certificate.save(tmp_path / "cert.json")
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, tmp_path / "cert.json"], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) == certificate.keep([3.0, 2.0, 1.0], any_length=True)
    assert done.stderr.count("NUMBA_CACHE_DIR") == 1
