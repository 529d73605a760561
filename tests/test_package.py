"""What importing the package costs and offers."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import surecut as sc

SOURCE = Path(sc.__file__).parent
HEAVY = ("numba", "polars", "ir_measures", "scipy", "pandas", "typer", "rich")


def modules_after(code: str) -> set[str]:
    """Top-level modules that a fresh interpreter has loaded after running the code."""
    printing = "import json, sys; print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})))"
    done = subprocess.run([sys.executable, "-c", f"{code}\n{printing}"], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_importing_the_package_loads_nothing_heavy():
    assert modules_after("import surecut").isdisjoint(HEAVY)


def test_arrays_become_candidates_without_a_table_library():
    loaded = modules_after("import surecut; surecut.Candidates.from_arrays([[3.0, 2.0]], [[0.1, 0.9]], [[0, 1]])")
    assert loaded.isdisjoint({"numba", "polars", "ir_measures"})


def test_a_certificate_is_applied_without_a_table_library_or_an_evaluator(tmp_path):
    path = tmp_path / "cert.json"
    sc.calibrate(sc.simulate(queries=100, depth=10), target=sc.max_drop(0.3)).save(path)
    code = f"import surecut; surecut.load_certificate({str(path)!r}).keep([float(-i) for i in range(10)])"
    assert modules_after(code).isdisjoint({"polars", "ir_measures", "pandas", "typer", "rich"})


@pytest.mark.parametrize("name", sc.__all__)
def test_every_public_name_resolves(name):
    assert getattr(sc, name) is not None
    assert name in dir(sc)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'calibrat'"):
        sc.calibrat  # noqa: B018


def test_the_contract_names_are_public():
    contract = {"read_trec", "read_table", "calibrate", "max_drop", "at_least", "risk", "agreement"}
    assert contract | {"Candidates", "Certificate", "Check", "load_certificate", "InputError"} <= set(sc.__all__)


def test_input_errors_are_value_errors():
    assert issubclass(sc.InputError, ValueError)


def test_no_source_file_names_a_place_on_one_machine():
    private = re.compile(r"(?<![\w.])/(?:home|root|Users|work|tmp|mnt)/|[A-Z]:\\\\")
    named = [path.name for path in SOURCE.rglob("*.py") if private.search(path.read_text(encoding="utf-8"))]
    assert not named


def test_a_certificate_holds_no_path_of_the_files_it_came_from(tmp_path):
    lines = [f"q{q} Q0 d{d} 0 {10 - d}.5 tag" for q in range(40) for d in range(5)]
    (tmp_path / "secret-name.run").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "secret-name.qrels").write_text("\n".join(f"q{q} 0 d1 1" for q in range(40)), encoding="utf-8")
    run = tmp_path / "secret-name.run"
    text = sc.calibrate(sc.read_trec(run, run, tmp_path / "secret-name.qrels")).to_json()
    assert "secret-name" not in text
    assert str(tmp_path) not in text
