"""surecut: how few candidates does your reranker have to see, with a guarantee?"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from surecut.version import __version__

if TYPE_CHECKING:
    from surecut.assessing import assess as assess
    from surecut.calibration import calibrate as calibrate
    from surecut.candidates import Candidates as Candidates
    from surecut.certificate import Certificate as Certificate
    from surecut.certificate import load_certificate as load_certificate
    from surecut.checking import Check as Check
    from surecut.errors import InputError as InputError
    from surecut.io.table import read_table as read_table
    from surecut.io.table import scan_table as scan_table
    from surecut.io.table import write_table as write_table
    from surecut.io.trec import read_trec as read_trec
    from surecut.monitoring.feedback import Feedback as Feedback
    from surecut.monitoring.monitor import Monitor as Monitor
    from surecut.monitoring.recalibrating import recalibrate as recalibrate
    from surecut.planning import queries_needed as queries_needed
    from surecut.report.writing import write_report as write_report
    from surecut.runners.ray import Ray as Ray
    from surecut.signing import sign as sign
    from surecut.simulation import simulate as simulate
    from surecut.system.ranker import Ranker as Ranker
    from surecut.system.recipe import read_recipe as read_recipe
    from surecut.system.scoring import score as score
    from surecut.targets import agreement as agreement
    from surecut.targets import at_least as at_least
    from surecut.targets import max_drop as max_drop
    from surecut.targets import risk as risk
    from surecut.trials.methods import Method as Method
    from surecut.trials.running import run_trials as run_trials
    from surecut.verifying import Verification as Verification
    from surecut.verifying import verify as verify

_HOMES = {
    "Candidates": "candidates",
    "Certificate": "certificate",
    "Check": "checking",
    "Feedback": "monitoring.feedback",
    "InputError": "errors",
    "Method": "trials.methods",
    "Monitor": "monitoring.monitor",
    "Ranker": "system.ranker",
    "Ray": "runners.ray",
    "Verification": "verifying",
    "agreement": "targets",
    "assess": "assessing",
    "at_least": "targets",
    "calibrate": "calibration",
    "load_certificate": "certificate",
    "max_drop": "targets",
    "queries_needed": "planning",
    "read_recipe": "system.recipe",
    "read_table": "io.table",
    "read_trec": "io.trec",
    "recalibrate": "monitoring.recalibrating",
    "risk": "targets",
    "run_trials": "trials.running",
    "scan_table": "io.table",
    "score": "system.scoring",
    "sign": "signing",
    "simulate": "simulation",
    "verify": "verifying",
    "write_report": "report.writing",
    "write_table": "io.table",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    """Load a public name's module when it is first asked for, so that the import itself stays quick."""
    if name not in _HOMES:
        raise AttributeError(f"module 'surecut' has no attribute '{name}'")
    value = getattr(import_module(f"surecut.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
