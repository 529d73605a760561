"""Two certificates side by side: what changed, and whether the newer one claims less or keeps more."""

from collections.abc import Iterator, Mapping
from typing import Any

from surecut.certificate import Certificate
from surecut.targets import CLAIMS

_SILENT = ("statement", "surecut")  # said again by the other fields


def changes(old: Certificate, new: Certificate) -> dict[str, tuple[Any, Any]]:
    """The fields that differ, by dotted names: before and after."""
    before, after = flat(old.to_dict()), flat(new.to_dict())
    return {
        name: (before.get(name), after.get(name))
        for name in {**before, **after}
        if before.get(name) != after.get(name) and name not in _SILENT
    }


def setbacks(
    old: Certificate, new: Certificate, kept_rise: float | None = None, measure_fall: float | None = None
) -> list[str]:
    """Why the new one should not replace the old one.

    It may keep more by a share of `kept_rise`, and its measure, pruned, may be lower by a share of `measure_fall`.
    """
    return [
        *_claims_less(old, new),
        *(() if kept_rise is None else _keeps_more(old, new, kept_rise)),
        *(() if measure_fall is None else _measures_less(old, new, measure_fall)),
    ]


def flat(record: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested fields by dotted names."""
    fields: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, Mapping):
            fields |= flat(value, f"{prefix}{name}.")
        else:
            fields[prefix + name] = value
    return fields


def _claims_less(old: Certificate, new: Certificate) -> Iterator[str]:
    was, now = _claimed(old), _claimed(new)
    if was is None:
        return  # nothing is less than nothing
    if now is None or (old.certified and not new.certified):
        yield f"the old one is {old.status}, the new one is {new.status}"
    about = [(each.measure, each.target["kind"], each.target.get("k"), each.tail) for each in (old, new)]
    if about[0] != about[1]:
        told = [
            f"{kind.replace('_', ' ')}{'' if k is None else f' of the top {k}'}, {measure}, with pruned documents "
            f"{'dropped' if tail == 'drop' else 'appended'}"
            for measure, kind, k, tail in about
        ]
        yield f"they claim different things: the old one '{told[0]}', the new one '{told[1]}'"
        return
    if now is not None and (now < was if _RISING[old.target["kind"]] else now > was):
        yield f"it claims less: {old.target['kind']} {now:g} instead of {was:g}"
    if new.confidence < old.confidence:
        yield f"it is less sure: confidence {new.confidence:g} instead of {old.confidence:g}"
    if new.depth < old.depth:
        yield f"it is about shorter lists: depth {new.depth:,} instead of {old.depth:,}"


def _claimed(certificate: Certificate) -> float | None:
    """The value that is certified: the target's, or the one it was relaxed to."""
    if certificate.certified:
        return float(certificate.target["value"])
    if certificate.status == "relaxed-target" and certificate.relaxed is not None:
        return float(certificate.relaxed["value"])
    return None


def _keeps_more(old: Certificate, new: Certificate, kept_rise: float) -> Iterator[str]:
    rise = new.mean_kept / max(old.mean_kept, 1e-12) - 1.0
    if rise > kept_rise:
        yield f"it keeps {new.mean_kept:,.1f} on average instead of {old.mean_kept:,.1f}, {rise:+.1%}"


def _measures_less(old: Certificate, new: Certificate, measure_fall: float) -> Iterator[str]:
    was, now = float(old.calibration["mean_pruned"]), float(new.calibration["mean_pruned"])
    if old.measure != new.measure or was <= 0:
        return
    fall = (now - was if old.target["kind"] == "risk" else was - now) / was
    if fall > measure_fall:
        yield f"it is worse on its queries: {old.measure} {now:.4f} pruned instead of {was:.4f}, {-fall:+.1%}"


_RISING = {**{claim.kind: claim.rising for claim in CLAIMS.values()}, "risk": False}
"""Does a larger value of this kind of target claim more?"""
