"""Certificates changed by somebody who knows how to make the digest fit again."""

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import surecut as sc

WORDS = {
    "status": ("certified", "relaxed-target", "relaxed-confidence", "uncertified", "abstained"),
    "measure": ("RR@10", "nDCG@10", "RR@5"),
    "target.kind": ("at_least", "max_drop", "max_drop_abs", "agreement"),
    "rule.name": ("softmax", "score", "zscore", "rank"),
    "tail": ("drop", "append"),
    "test": ("hedge", "wsr", "hoeffding"),
    "procedure": ("walk", "paper", "est", "ert", "assess"),
    "grid.kind": ("exact", "fixed"),
    "tune.source": ("fold", "table", "calibration", "unjudged", "aside"),
}
"""Fields that are one of some words: a clever change is another of them."""

INSTEAD_OF_NULL = {
    "threshold": (-3.5, "inf"),
    "max_keep": (7,),
    "tune": ({"source": "fold", "queries": 100, "for": ["temperature"]},),
    "relaxed": ({"value": 0.3}, {}),
    "advice": ({"queries": 900, "tightest": 0.3, "mean_kept": 12.5},),
    "advice.queries": (900,),
    "advice.tightest": (0.3,),
    "calibration.scores": ({"lowest": 0.0, "highest": 1.0, "usual_best_from": 0.5, "usual_best_to": 1.0},),
    "relaxed.published_level": (0.5,),
    "relaxed.published_confidence": (0.5,),
}

Path = tuple[Any, ...]


def fields(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every value that holds no others, with the way to it; an empty object is one."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if not inside:
        yield path, value
    for step, each in inside:
        yield from fields(each, (*path, step))


def dotted(path: Path) -> str:
    return ".".join(map(str, path))


def changes(name: str, value: Any) -> Iterator[Any]:
    """Other values that a reader would take for a certificate's."""
    if value is None:
        yield from INSTEAD_OF_NULL[name]
    elif isinstance(value, bool):
        yield not value
    elif name in WORDS:
        yield from (word for word in WORDS[name] if word != value)
    elif isinstance(value, dict):
        yield {"added": "x"}
    elif isinstance(value, str):
        yield value[1:] + value[:1]
    elif isinstance(value, int):
        yield from (value + 1, value * 2)
    else:
        yield from (value * 1.001 or 0.001, value + 1e-6)


def changed(record: dict[str, Any], path: Path, value: Any) -> dict[str, Any]:
    """A copy of the record with one value replaced."""
    copy = json.loads(json.dumps(record))
    holder = copy
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = value
    return copy


def redigested(record: dict[str, Any]) -> str:
    """The file of a record whose digest fits, whatever it says."""
    said = {name: value for name, value in record.items() if name not in ("digest", "signature")}
    canonical = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    digest = hashlib.blake2b(canonical.encode(), digest_size=16).hexdigest()
    return json.dumps({**record, "digest": digest}, indent=2, ensure_ascii=False)


def said(certificate: sc.Certificate) -> dict[str, Any]:
    """What its file holds, without digest and signature."""
    return json.loads(json.dumps(certificate.to_dict()))
