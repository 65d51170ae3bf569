"""Encodes events and states as JSON and decodes them, checked. One event is one object: seq, at, kind, body."""

import json
from typing import Any, TypeVar

import msgspec

from kpd.model.events import FACTS, Event
from kpd.model.fact import Fact
from kpd.model.upgrades import UPGRADES

T = TypeVar("T")


class CodecError(ValueError):
    """An error in JSON that does not fit its type; the message says where."""


def encode(value: Any) -> bytes:
    """Encode any value of the model, event body or plain value as one line of JSON (no newline inside)."""
    return msgspec.json.encode(value)


def jsonable(value: Any) -> Any:
    """Convert `value` to JSON's own types: objects, arrays, strings, numbers, true, false, null."""
    return json.loads(encode(value))


def decode(raw: bytes | str, kind: type[T]) -> T:
    """Decode JSON as a value of type `kind`, strictly. Raises CodecError where it does not fit."""
    try:
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as err:
        raise CodecError(str(err)) from err


def fact_from(kind: str, body: bytes | str) -> Fact:
    """Build the fact named `kind` from the fields in `body`. Raises CodecError on an unknown kind or a wrong field."""
    cls = FACTS.get(kind)
    if cls is None:
        raise CodecError(f"unknown kind of event {kind!r}: written by a newer kpd?")
    try:
        return decode(body, cls)
    except CodecError:
        if kind not in UPGRADES:
            raise
        return _upgraded(kind, body, cls)


def _upgraded(kind: str, body: bytes | str, cls: type[Fact]) -> Fact:
    """Decode a fact that an older kpd wrote. Raises CodecError where it cannot be read."""
    try:
        return msgspec.convert(UPGRADES[kind](decode(body, dict)), cls)
    except (msgspec.MsgspecError, KeyError, TypeError, AttributeError) as err:
        raise CodecError(f"{kind} cannot be read: {err}") from err


def event_to_json(event: Event) -> bytes:
    return encode({"seq": event.seq, "at": event.at, "kind": event.fact.kind(), "body": event.fact})


def event_from_json(raw: bytes | str) -> Event:
    frame = decode(raw, _Frame)
    return Event(frame.seq, frame.at, fact_from(frame.kind, bytes(frame.body)))


class _Frame(msgspec.Struct):
    seq: int
    at: float
    kind: str
    body: msgspec.Raw
