"""What the values of options mean: targets, shares and numbers as people write them."""

from surecut.errors import InputError
from surecut.targets import Target, agreement, at_least, max_drop


def chosen_target(
    at_least_value: str | None,
    max_drop_value: str | None,
    max_drop_abs: str | None,
    agreement_value: str | None,
) -> Target:
    """The one target that was asked for; a drop of 1% if none was."""
    given = {
        "--at-least": at_least_value,
        "--max-drop": max_drop_value,
        "--max-drop-abs": max_drop_abs,
        "--agreement": agreement_value,
    }
    named = [name for name, value in given.items() if value is not None]
    if len(named) > 1:
        raise InputError(f"{' and '.join(named)}: give one target; two claims need two certificates")
    if at_least_value is not None:
        return at_least(_number("--at-least", at_least_value))
    if max_drop_abs is not None:
        return max_drop(_number("--max-drop-abs", max_drop_abs), absolute=True)
    if agreement_value is not None:
        share, _, k = agreement_value.partition("@")
        if k and not (k.isascii() and k.isdecimal()):
            raise InputError(f"--agreement {agreement_value}: write it like 0.95@10")
        return agreement(_number("--agreement", share), int(k or 10))
    return max_drop(_share("--max-drop", "1%" if max_drop_value is None else max_drop_value))


def chosen_confidence(text: str) -> float:
    return _number("--confidence", text)


def chosen_fusion(text: str) -> float | str:
    return text if text == "fit" else _number("--fusion", text)


def _share(option: str, text: str) -> float:
    """1% or 0.01; a bare 1 is refused, because both 1% and 100% could be meant."""
    value = _number(option, text)
    if not text.strip().endswith("%") and value >= 1:
        raise InputError(f"{option} {text}: write {text}% for a share in percent, or a number below 1")
    return value


def _number(option: str, text: str) -> float:
    stripped = text.strip()
    try:
        return float(stripped[:-1]) / 100 if stripped.endswith("%") else float(stripped)
    except ValueError:
        raise InputError(f"{option} {text}: not a number") from None
