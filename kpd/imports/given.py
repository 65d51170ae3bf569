"""Reads what others wrote as the types that an importer needs; a fault is told with its place."""

from typing import Any, TypeVar

import msgspec

from kpd.imports.errors import ImportRefused

T = TypeVar("T")


def fitted(given: object, kind: type[T], name: str) -> T:
    """Return `given`, which was read from the file `name`, as this type. Raises ImportRefused."""
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as err:
        raise _misfit(name, err) from err


def json_as(text: str, kind: object, name: str) -> Any:
    """Read JSON as this type. Raises ImportRefused."""
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.ValidationError as err:
        raise _misfit(name, err) from err
    except (msgspec.DecodeError, RecursionError) as err:
        raise ImportRefused(f"{name} is no JSON: {err}", "correct it") from err


def _misfit(name: str, err: msgspec.ValidationError) -> ImportRefused:
    return ImportRefused(f"{name} does not have the values that kpd knows: {err}", f"correct {name}")
