"""The `calibrate` command that makes the same claim in another form."""

import shlex
from typing import Any

from surecut.certificate import Certificate
from surecut.measures import is_built_in
from surecut.statements import percent


def calibrate_command(certificate: Certificate, output: str, **changes: Any) -> str:
    """The command that calibrates for the certificate's claim, with some options set otherwise.

    A claim that the command line cannot make (a measure or loss of one's own) is given as a call.
    """
    options: dict[str, Any] = {
        "rule": certificate.rule["name"],
        "tail": certificate.tail,
        "min_keep": certificate.min_keep,
        "max_keep": certificate.max_keep,
        "depth": certificate.depth,
        "fusion": "fit" if certificate.fusion["fitted"] else float(certificate.fusion["beta"]),
        **changes,
    }
    options = {name: value for name, value in options.items() if value not in (None, _DEFAULTS.get(name))}
    if not is_built_in(certificate.measure) or certificate.target["kind"] == "risk":
        given = ", ".join(f"{name}={value!r}" for name, value in options.items())
        return f"sc.calibrate(data, measure=..., target=..., confidence={certificate.confidence!r}, {given})"
    judged = certificate.target["kind"] != "agreement"
    grouped = certificate.calibration["units"] < certificate.calibration["queries"]
    words = [
        "surecut calibrate --retriever RUN --reranker RUN",
        "--qrels QRELS" if judged else "",
        "--groups GROUPS" if grouped else "",
        _claim(certificate),
    ]
    words += [f"--{name.replace('_', '-')} {shlex.quote(f'{value}')}" for name, value in options.items()]
    return " ".join(word for word in (*words, f"-o {output}") if word)


_DEFAULTS = {"tail": "drop", "min_keep": 1, "fusion": 0.0}


def _claim(certificate: Certificate) -> str:
    target = certificate.target
    value = repr(float(target["value"]))
    share = percent(target["value"])
    claims = {
        "at_least": f"--at-least {value}",
        "max_drop": f"--max-drop {share if float(share[:-1]) / 100 == target['value'] else value}",
        "max_drop_abs": f"--max-drop-abs {value}",
        "agreement": f"--agreement {value}@{target.get('k')}",
    }
    measure = "" if target["kind"] == "agreement" else f"--measure {shlex.quote(certificate.measure)} "
    return f"{measure}{claims[target['kind']]} --confidence {certificate.confidence!r}"
