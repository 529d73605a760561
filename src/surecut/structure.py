"""Is a record a certificate that every verb can work with? Its JSON schema says, for others and for us.

A digest is no signature: anybody can write a record of nonsense with the right one.
"""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from surecut.errors import InputError


def refuse_other_structure(record: Mapping[str, Any], name: str, cure: str) -> None:
    """Refuse a record with a field that is missing, unknown, of another type or out of range; the first is named."""
    described, validator = _schema()
    wrong = next(validator.iter_errors(dict(record)), None)
    if wrong is not None:
        place = ".".join(map(str, wrong.instance_path))
        raise InputError(f"{name}: {f'{place}: ' if place else ''}{wrong.message}; {cure}")
    for way in _whole_numbers(described, described["$defs"]):
        value: Any = record
        for step in way:
            value = (value or {}).get(step)
        if isinstance(value, float):
            raise InputError(f"{name}: {'.'.join(way)}: {value} is not written as a whole number; {cure}")


@cache
def _schema() -> tuple[dict[str, Any], Any]:
    from jsonschema_rs import validator_for

    described = json.loads(Path(__file__).with_name("certificate.schema.json").read_text(encoding="utf-8"))
    return described, validator_for(described)


def _whole_numbers(described: Mapping[str, Any], definitions: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """The ways to the fields that are whole numbers: to a schema 3.0 is one, to Python it is not."""
    for name, field in described.get("properties", {}).items():
        if any(_is_whole(each, definitions) for each in (field, *field.get("anyOf", ()))):
            yield (name,)
        yield from ((name, *rest) for rest in _whole_numbers(field, definitions))


def _is_whole(field: Mapping[str, Any], definitions: Mapping[str, Any]) -> bool:
    named = field.get("$ref", "").rpartition("/")[2]
    return bool(definitions.get(named, field).get("type") == "integer")
