"""Encodes events and states as JSON and decodes them, checked. One event is one object: seq, at, kind, body."""

import json
from typing import Any, TypeVar

import msgspec

from kpd.model.events import FACTS, Event, Fact
from kpd.model.upgrades import UPGRADES

T = TypeVar("T")


class CodecError(ValueError):
    """The bytes are not what they should be; the message says where."""


def encode(value: Any) -> bytes:
    """Return any noun, event body or plain value as one line of JSON (no newline inside)."""
    return msgspec.json.encode(value)


def jsonable(value: Any) -> Any:
    """Return `value` as JSON has it: objects, arrays, strings, numbers, true, false, null."""
    return json.loads(encode(value))


def decode(raw: bytes | str, kind: type[T]) -> T:
    """JSON as `kind`, strictly. Raises CodecError."""
    try:
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as err:
        raise CodecError(str(err)) from err


def fact_from(kind: str, body: bytes | str) -> Fact:
    """Return the fact named `kind` with the fields in `body`. Raises CodecError on an unknown kind or a wrong field."""
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
    """Return a fact as an older kpd has written it. Raises CodecError."""
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
