"""Describes types and values in words, for errors about files that people write."""

import dataclasses
import types
import typing
from typing import Annotated, Any, Literal, Union


def base_of(kind: Any) -> Any:
    """Return `kind` without Annotated and without an optional None."""
    if typing.get_origin(kind) is Annotated:
        return base_of(typing.get_args(kind)[0])
    if typing.get_origin(kind) in (Union, types.UnionType):
        options = [option for option in typing.get_args(kind) if option is not type(None)]
        return base_of(options[0]) if len(options) == 1 else kind
    return kind


def choices_of(kind: Any) -> tuple[str, ...]:
    """Return the values of a Literal; none for another type."""
    base = base_of(kind)
    return typing.get_args(base) if typing.get_origin(base) is Literal else ()


_WORDS: dict[Any, str] = {
    int: "an integer",
    float: "a number",
    str: "a string",
    bool: "true or false",
    list: "a list",
    dict: "a table",
}


def wanted(kind: Any) -> str:
    """Describe, in words, the values that this type allows: `an integer, at least 1`."""
    if choices := choices_of(kind):
        return " or ".join(f'"{choice}"' for choice in choices)
    base = base_of(kind)
    if typing.get_origin(base) in (Union, types.UnionType):
        return " or ".join(wanted(option) for option in typing.get_args(base))
    if dataclasses.is_dataclass(base):
        return f"a table of {', '.join(field.name for field in dataclasses.fields(base))}"
    word = _WORDS.get(typing.get_origin(base) or base, "another value")
    if typing.get_origin(base) is tuple:
        word = f"a list in which each is {wanted(typing.get_args(base)[0])}"
    return word + _limits(kind)


def to_give(keys: tuple[str, ...], kind: Any) -> str:
    """Describe, in words, what to write for a missing key."""
    base = base_of(kind)
    if not dataclasses.is_dataclass(base):
        return f"give {wanted(kind)}"
    needed = [field.name for field in dataclasses.fields(base) if is_needed(field)]
    return f"write a table [{'.'.join(keys)}]" + (f" with {', '.join(needed)}" if needed else "")


def is_needed(field: "dataclasses.Field[Any]") -> bool:
    """Return whether the field has no default."""
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _limits(kind: Any) -> str:
    if typing.get_origin(kind) in (Union, types.UnionType):
        return next((_limits(part) for part in typing.get_args(kind) if typing.get_origin(part) is Annotated), "")
    if typing.get_origin(kind) is not Annotated:
        return ""
    meta = typing.get_args(kind)[1]
    signs = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
    bounds = [f"{word} {getattr(meta, name)}" for name, word in signs.items() if getattr(meta, name) is not None]
    filled = ["not empty"] if meta.min_length else []
    return ", " + " and ".join(bounds + filled)


def in_words(value: Any) -> str:
    """Describe a value that does not fit."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
        case str():
            return f'"{value[:40]}"' if value else "an empty string"
        case list():
            return f"[{', '.join(map(in_words, value[:3]))}{', …' if len(value) > 3 else ''}]"
    return _WORDS.get(type(value), "a date or time")
