"""Reads a reply's notes: its memo, its expectation, and the parameters that it leaves to a sweep."""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from kpd.agents.agent import BadReply
from kpd.model.iteration import Expectation
from kpd.profile.catalogue import rule_ids
from kpd.text.foreign import plain

LONGEST_MEMO = 300
LONGEST_LINE = 1000
"""Characters of a line that are looked at."""
MOST_AIMS = 5
MOST_PARAMETERS, MOST_VALUES, LONGEST_VALUE, LONGEST_TUNE = 16, 64, 200, 8000
TUNE = "[tune]"
NOTHING = ("none", "nothing", "-", "–", "—")
"""What a reply may say that removes no file."""
_WORD = r"[\s>#*_`-]{0,8}%s[\s*_`]{0,4}:[\s*_`]{0,4}(.*)"
_MEMO, _EXPECT, _REMOVE = (re.compile(_WORD % word, re.IGNORECASE) for word in ("MEMO", "EXPECT", "REMOVE"))
_WORDS = re.compile(r"\w")
_AIMS = re.compile(r"\[([^\[\]]{0,900})\][\s,;:*—–-]{0,4}")
_METRIC = re.compile(r"([A-Za-z_]\w{0,63}(?:\[[^\]]{1,80}\])?)[\s*_`:,]{1,6}(\w+|↑|↓)")
_DIRECTIONS = {
    **dict.fromkeys(("up", "increase", "increases", "higher", "rise", "rises", "↑"), "up"),
    **dict.fromkeys(("down", "decrease", "decreases", "lower", "fall", "falls", "drop", "drops", "↓"), "down"),
}
_NUMBER = r"([-+]?\d{1,6}(?:\.\d{1,6})?)"
_GAIN = re.compile(rf"gain\D{{0,12}}?{_NUMBER}", re.IGNORECASE)
_PERCENT = re.compile(rf"{_NUMBER}\s?%")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")


@dataclass(frozen=True, slots=True)
class ReplyNotes:
    """What a reply says beside its files.

    `aims` are the known rules that the memo names, `removed` the files that the reply removes. The rest is data: shown,
    never obeyed.
    """

    memo: str
    aims: tuple[str, ...]
    expected: Expectation | None
    removed: tuple[str, ...] = ()


def begins(text: str) -> bool:
    """Return whether a block begins with a MEMO line, and so holds notes instead of a file."""
    return _MEMO.fullmatch(text.lstrip().partition("\n")[0][:LONGEST_LINE]) is not None


def read_notes(lines: Iterable[str]) -> ReplyNotes:
    """Read the notes from the lines outside of all files. Without a MEMO line the memo is the first line with words."""
    memo, expect, first = "", "", ""
    removed: list[str] = []
    for line in filter(None, (each[:LONGEST_LINE].strip() for each in lines)):
        named = ":" in line  # a reply has up to four million lines
        if named and (found := _MEMO.fullmatch(line)):
            memo = memo or found[1]
        elif named and (found := _EXPECT.fullmatch(line)):
            expect = expect or found[1]
        elif named and (found := _REMOVE.fullmatch(line)):
            removed += (word.removeprefix("./") for word in re.split(r"[\s,;`*\"']+", found[1]) if word)
        elif not first and _WORDS.search(line):
            first = line
    aims: list[str] = []
    while (bracket := _AIMS.match(memo)) is not None:
        aims += (word for word in re.split(r"[\s,;`]+", bracket[1]) if word in rule_ids())
        memo = memo[bracket.end() :]
    said = plain(memo, LONGEST_MEMO) or plain(first.lstrip("#>*- "), LONGEST_MEMO)
    gone = tuple(dict.fromkeys(path for path in removed if path.lower() not in NOTHING))
    return ReplyNotes(said, tuple(dict.fromkeys(aims))[:MOST_AIMS], _expectation(expect), gone)


def _expectation(text: str) -> Expectation | None:
    """Return the expected metric, its direction and a gain, as far as they can be read; else None.

    An expectation that cannot be read is not worth a second question.
    """
    plainly = text.translate({0x2212: "-", 0x2013: "-"})
    found = _METRIC.match(plainly.lstrip())
    direction = _DIRECTIONS.get(found[2].lower()) if found else None
    if found is None or direction is None:
        return None
    gain = _GAIN.search(plainly) or _PERCENT.search(plainly)
    return Expectation(plain(found[1]), "up" if direction == "up" else "down", float(gain[1]) if gain else None)


def is_tune(text: str) -> bool:
    return TUNE in text and text.lstrip().partition("\n")[0].strip(" \t*`#") == TUNE


def unfenced_tune(lines: Iterable[str]) -> str:
    """Return the lines from `[tune]` to the next blank line; empty where there is no such line."""
    kept: list[str] = []
    for line in lines:
        if kept and not line.strip():
            break
        if kept or is_tune(line):
            kept.append(line)
    return "\n".join(kept)


def tune(text: str) -> dict[str, tuple[str, ...]]:
    """Return the parameters of a [tune] block with their values as text. Raises BadReply."""
    body = text.lstrip().partition("\n")[2]
    if len(body) > LONGEST_TUNE:
        raise BadReply(f"the [tune] block has {len(body)} characters; {LONGEST_TUNE} are the most")
    try:
        table = tomllib.loads(body)
    except (ValueError, RecursionError) as err:
        raise BadReply(f"the [tune] block is not TOML: {plain(str(err))}; write NAME = [value, …] in lines") from err
    if len(table) > MOST_PARAMETERS:
        raise BadReply(f"[tune] has {len(table)} parameters; {MOST_PARAMETERS} are the most")
    return {name: _values(name, given) for name, given in table.items()}


def _values(name: str, given: Any) -> tuple[str, ...]:
    if not _NAME.fullmatch(name):
        raise BadReply(f"{plain(name)!r} in [tune] is not an identifier")
    if not isinstance(given, list) or not given or not all(isinstance(each, str | int | float) for each in given):
        raise BadReply(f"{name} in [tune] is not a list of numbers or strings: write {name} = [value, …]")
    if len(given) > MOST_VALUES:
        raise BadReply(f"{name} in [tune] has {len(given)} values; {MOST_VALUES} are the most")
    values = tuple(dict.fromkeys(_word(name, each) for each in given))
    if not all(value.isprintable() and len(value) <= LONGEST_VALUE for value in values):
        raise BadReply(f"{name} in [tune] has a value that is too long or not plain text")
    return values


def _word(name: str, value: str | int | float) -> str:
    if isinstance(value, bool):
        raise BadReply(f"{name} in [tune] is true or false; use 1 and 0")
    try:
        return str(value)
    except ValueError as err:  # an integer of more digits than Python prints
        raise BadReply(f"{name} in [tune] has a number that is too long") from err
