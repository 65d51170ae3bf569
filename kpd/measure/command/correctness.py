"""Finds what the result of a task's own benchmark says about its correctness. Pure.

Benchmarks say it in many words: `"ok": true`, `"status": "PASS"`, `"errors": []`, a `verified` in each case. A key that
is in one of the tables below is a claim about the result: a good one, a bad one, or one that kpd does not understand.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from kpd.measure.command.shape import general

Kind = Literal["right", "word", "trouble"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


RIGHT = _words("""
ok okay pass passed passes success successful succeeded correct correctness verified verification valid validated
validation match matches matched allclose
""")
"""Keys that claim that the result is right: they have to be true, 1, or a good word."""
WORDS = _words("status result verdict outcome state")
"""Keys that hold one word about the result, or a table, which is searched in turn."""
TROUBLE = _words("""
error errors fail failed fails failure failures incorrect wrong invalid mismatch mismatches mismatched exception
exceptions
""")
"""Keys that name what is wrong: they have to be empty, 0 or false."""
GOOD = _words("""
ok okay pass passed passes success successful succeeded correct right verified valid validated match matches matched
accepted good true yes
""")
FILLERS = _words("all is are was were the test tests check checks case cases output outputs result results")
"""Words that may stand beside a good one: `all tests passed`."""
BAD = TROUBLE | _words("""
no not false bad none null nan unverified unsuccessful unmatched rejected refused crash crashed abort aborted killed
timeout oom broken inaccurate
""")
"""A text with one of these words in it is not good."""
NO_TROUBLE = frozenset(("", "0", "none", "null", "nil", "no", "false", "no error", "no errors", "ok", "success"))
PREFIXES = _words("is all any was has had")
"""A first word that does not change what a key means: `is_correct`, `hasErrors`."""
_NAMES = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_LONGEST, _SHOWN = 200, 40


@dataclass(frozen=True, slots=True)
class ResultClaim:
    """What the result says at `place`, for example `cases[2].ok`; `good` is None if kpd does not know the word.

    `said` is the value: a text as it is, anything else as JSON.
    """

    place: str
    said: str
    kind: Kind
    good: bool | None

    def __str__(self) -> str:
        return f"it says {json.dumps(self.place)}: {self.said[:_SHOWN]}"

    @property
    def confirms(self) -> bool:
        """Whether it says that the result is right; the absence of errors does not."""
        return self.good is True and self.kind != "trouble"


def claims(table: dict[str, Any], figure: str = "", good: frozenset[str] = frozenset()) -> Iterator[ResultClaim]:
    """Yield what the table claims about the result, at any depth, in its order.

    `figure` is the place of the score: a number there claims nothing. `good` are further texts, in small letters, that
    the author of the task calls good. The keys of a table `cases` are names of cases, and so claim nothing.
    """
    left: list[tuple[str, Any, Kind | None]] = [("", table, None)]
    while left:
        place, value, kind = left.pop()
        if isinstance(value, dict) and value:
            left += reversed(_entries(place, value, kind, figure))
        elif isinstance(value, list) and value:
            left += [(f"{place}[{at}]", inner, kind) for at, inner in reversed([*enumerate(value)])]
        elif _is_number(value) and (general(place) == figure or (kind == "word" and _is_result(place))):
            continue
        elif kind is not None:
            said = value if isinstance(value, str) else json.dumps(value)
            yield ResultClaim(place, said[:_LONGEST], kind, _is_good(kind, value, good))


def _entries(place: str, table: dict[str, Any], kind: Kind | None, figure: str) -> list[tuple[str, Any, Kind | None]]:
    """Return place, value and kind of each entry.

    In `correct: {"small": true, "large": true}` the names are of cases, so both entries claim what the table does. In
    `correct: {"passed": true, "seed": 0}` one entry is a claim of its own, so the others are none.
    """
    own: dict[str, Kind | None] = {}
    if place != "cases":
        claiming = ((name, value) for name, value in table.items() if place or name != figure or not _is_number(value))
        own = {name: kind_of(name, value) for name, value in claiming}
    inherited = None if kind == "word" or any(own.values()) else kind
    return [(f"{place}.{name}" if place else name, value, own.get(name) or inherited) for name, value in table.items()]


def kind_of(name: str, value: Any) -> Kind | None:
    """Return what a key of this name claims; None for most names.

    The last word of a longer name counts only beside a value that is no number: `check_passed` is a claim,
    `num_correct` and `max_error` are figures.
    """
    words = [name.strip().lower()]
    if (found := _kind(words[0])) is not None:
        return found
    words = [word.lower() for word in _NAMES.findall(name)]
    while len(words) > 1 and words[0] in PREFIXES:
        words = words[1:]
    if len(words) == 1:
        return _kind(words[0])
    last = _kind(words[-1]) if words else None
    if last == "right" and not _is_number(value) and not isinstance(value, dict | list):
        return last
    return last if last == "trouble" and isinstance(value, bool) else None


def _kind(word: str) -> Kind | None:
    return "right" if word in RIGHT else "word" if word in WORDS else "trouble" if word in TROUBLE else None


def _is_good(kind: Kind, value: Any, good: frozenset[str]) -> bool | None:
    text = " ".join(value.lower().split()) if isinstance(value, str) else None
    if kind == "trouble":
        return not value or text in NO_TROUBLE
    if text is None:
        text = json.dumps(value)
        if isinstance(value, bool) or not _is_number(value):  # true, false, null, and an empty list or table
            return value is True
        if kind == "right" and not value > 1:  # NaN, too
            return bool(value == 1)
    words = set(re.findall(r"[a-z]+", text)) - FILLERS
    if text in good or (words and words <= GOOD and not re.search(r"[^a-z\W]", text)):
        return True
    return False if not text or words & BAD else None


def _is_result(place: str) -> bool:
    return re.sub(r"(\[\d+\])+$", "", place).rpartition(".")[2].lower() == "result"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
