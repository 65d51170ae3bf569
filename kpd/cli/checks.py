"""Prints the checks of hosts: each with its sign, its result and a remedy."""

import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from kpd.cli.exit_codes import FAILED, INFRA, OK
from kpd.cli.terminal_text import line, pad, paint

SIGNS = {"ok": ("✓", "green"), "bad": ("✗", "red"), "off": ("–", "dim")}
NAME = 12
"""Cells of the longest name, "cpu counters"."""
Check = dict[str, Any]


def lines(checks: Sequence[Check], limit: int | None, colour: bool) -> Iterator[str]:
    """Yield the checks, one below the other. Without a `limit` nothing is folded: a command stays on one line."""
    indent = " " * (NAME + 6)
    for check in checks:
        sign, hue = SIGNS[check["state"]]
        first, *more = folded(check["found"], limit, indent) or [""]
        name = pad(line(check["name"]), NAME)
        yield f"  {paint(sign, hue, colour)} {name}  {first.strip()}".rstrip()
        yield from more
        if check["state"] == "bad" and check["remedy"]:
            first, *more = folded(check["remedy"], limit, f"{indent}  ") or [""]
            yield f"{indent}{paint('→', 'yellow', colour)} {first.strip()}"
            yield from more


def folded(text: str, limit: int | None, indent: str) -> list[str]:
    """Fold `text` into lines of at most `limit` cells, each after `indent`; words are not split."""
    room = max((limit or 0) - len(indent), 20)
    flat = line(text)
    rows = [flat] if limit is None else textwrap.wrap(flat, room, break_long_words=False, break_on_hyphens=False)
    return [f"{indent}{row}" for row in rows]


def host(card: dict[str, Any], limit: int | None, colour: bool) -> Iterator[str]:
    """Yield a host's name, its system and device, and its checks."""
    known = ", ".join(filter(None, (card["system"], card["device"])))
    first, *more = folded(known, limit, " " * (len(line(card["name"])) + 2)) or [""]
    yield f"{paint(line(card['name']), 'bold', colour)}  {first.strip()}".rstrip()
    yield from more
    yield from lines(card["checks"], limit, colour)


def brief(checks: Sequence[Check]) -> str:
    """Summarise the checks in one line: "9 ✓, 2 ✗ (disk, ncu)"."""
    good = sum(check["state"] == "ok" for check in checks)
    bad = [check["name"] for check in checks if check["state"] == "bad"]
    return f"{good} ✓, {len(bad)} ✗ ({', '.join(bad)})" if bad else f"{good} ✓" if checks else ""


def code(checks: Sequence[Check], cards: Sequence[dict[str, Any]]) -> int:
    """Return the exit code: 3 where a host cannot be reached, else 1 where anything is bad, else 0."""
    if any(card["link"] != "up" for card in cards):
        return INFRA
    found = [*checks, *(check for card in cards for check in card["checks"])]
    return FAILED if any(check["state"] == "bad" for check in found) else OK
