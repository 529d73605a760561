"""JSON as its standard has it and as every reader understands it."""

import json
import math
from typing import Any, NoReturn

from surecut.errors import InputError

_DEEPEST = 64
_LARGEST = 2**63 - 1
_MOST_DIGITS = len(str(-_LARGEST))


def parse_json(text: str, name: object) -> Any:
    """The value of a JSON text: keys that are there once, numbers of 64 bits, whole characters, no endless nesting."""
    try:
        value = json.loads(
            text, object_pairs_hook=_once, parse_int=_whole, parse_float=_finite, parse_constant=_no_number
        )
        _refuse_depth(value)
        if "\\u" in text:  # halves of a surrogate pair come from escapes only
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise InputError(
            f"{name}: not a whole JSON document; the file is truncated or something else "
            f"({error.msg[:1].lower()}{error.msg[1:]}, line {error.lineno:,})"
        ) from None
    except UnicodeEncodeError:
        raise InputError(f"{name}: holds half of a surrogate pair, which is no text") from None
    except RecursionError:
        raise InputError(f"{name}: nested too deep") from None
    except _Odd as odd:
        raise InputError(f"{name}: {odd}") from None
    return value


class _Odd(ValueError):
    """What the standard leaves to the reader, and readers make different things of."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    held: dict[str, Any] = {}
    for key, value in pairs:
        if key in held:
            raise _Odd(f"the key '{key}' is there twice")
        held[key] = value
    return held


def _whole(text: str) -> int:
    if len(text) > _MOST_DIGITS or abs(int(text)) > _LARGEST:
        raise _Odd(f"the number {text[:_MOST_DIGITS]} is beyond 64 bits")
    return int(text)


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise _Odd(f"the number {text[:_MOST_DIGITS]} is beyond 64 bits")
    return number


def _no_number(text: str) -> NoReturn:
    raise _Odd(f"{text} is no number of JSON")


def _refuse_depth(value: Any) -> None:
    level = [value]
    for _ in range(_DEEPEST):
        level = [inner for outer in level if isinstance(outer, dict | list) for inner in _inside(outer)]
    if level:
        raise RecursionError


def _inside(outer: Any) -> Any:
    return outer.values() if isinstance(outer, dict) else outer
