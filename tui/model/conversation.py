"""Reads the log of a session: who said what, and when."""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import msgspec

from kpd.model.session import AGENT, COST, KPD, THOUGHT

SESSION_LOG = "session/log.jsonl"
"""The file of an iteration with the conversation of its agent."""
MOST_SHOWN = 3
"""Lines of a prompt that are shown."""


class _Entry(msgspec.Struct):
    at: float
    who: str
    text: str


class SpokenLine(NamedTuple):
    """A line of a conversation; `at` is the Unix time at which its first word was said."""

    at: float
    channel: str
    text: str


@lru_cache(maxsize=2)
def spoken(log: str) -> tuple[SpokenLine, ...]:
    """Return the conversation in lines. Pieces of one speaker are joined; what is no whole entry is passed over."""
    return tuple(_lines(log))


def _lines(log: str) -> Iterator[SpokenLine]:
    last: SpokenLine | None = None
    for entry in _entries(log):
        if entry.who == COST:
            continue
        if last is not None and (entry.who != last.channel or entry.who not in (AGENT, THOUGHT)):
            yield last
            last = None
        if entry.who == KPD:
            yield from _cut(entry)
            continue
        before, at = (last.text, last.at) if last is not None else ("", entry.at)
        *whole, rest = (before + entry.text).split("\n")
        for nth, line in enumerate(whole):
            yield SpokenLine(at if nth == 0 else entry.at, entry.who, line)
        last = SpokenLine(at if not whole else entry.at, entry.who, rest) if rest else None
    if last is not None:
        yield last


def _cut(entry: _Entry) -> Iterator[SpokenLine]:
    """Yield the beginning of a prompt."""
    lines = [line for line in entry.text.splitlines() if line.strip()]
    yield from (SpokenLine(entry.at, KPD, line) for line in lines[:MOST_SHOWN])
    if len(lines) > MOST_SHOWN:
        yield SpokenLine(entry.at, KPD, "…")


def _entries(log: str) -> Iterator[_Entry]:
    for line in log.splitlines():
        try:
            yield msgspec.json.decode(line, type=_Entry)
        except msgspec.MsgspecError:
            continue
