"""Defines a line of a verification: one thing that holds or does not."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isclose
from typing import Any

from kpd.model.codec import jsonable

MOST_SHOWN = 4
"""Differences that one line names; it counts the others."""
TOLERANCE = 1e-6
"""The share by which a figure may differ: logarithms of other machines differ in their last digits."""


@dataclass(frozen=True, slots=True)
class VerifiedLine:
    """`about` is a part of the bundle or an iteration such as r1.3; `text` says what holds, or what does not."""

    holds: bool
    about: str
    text: str


def differences(recorded: Any, derived: Any, optional: bool = False) -> list[str]:
    """List the figures and words that differ, each as `gain.pct is 4.7, not 4.1`.

    `optional`: a figure that is not recorded (null) claims nothing, as in logs of older versions.
    """
    return list(_differences("", jsonable(recorded), jsonable(derived), optional))


def told(found: list[str]) -> str:
    """Join differences as one text, the first few of many."""
    more = len(found) - MOST_SHOWN
    return "; ".join(found[:MOST_SHOWN]) + (f"; and {more} more" if more > 0 else "")


def _differences(where: str, recorded: Any, derived: Any, optional: bool) -> Iterator[str]:
    if optional and recorded is None:
        return
    if isinstance(recorded, dict) and isinstance(derived, dict) and recorded.keys() == derived.keys():
        for key in recorded:
            yield from _differences(f"{where}.{key}" if where else key, recorded[key], derived[key], optional)
    elif isinstance(recorded, list) and isinstance(derived, list) and len(recorded) == len(derived):
        for at, pair in enumerate(zip(recorded, derived, strict=True)):
            yield from _differences(f"{where}[{at}]", *pair, optional)
    elif not _same(recorded, derived):
        yield f"{where} is recorded as {_shown(recorded)}, and follows as {_shown(derived)}"


def _same(one: Any, other: Any) -> bool:
    figures = (int, float)
    if isinstance(one, figures) and isinstance(other, figures) and not isinstance(one, bool) | isinstance(other, bool):
        return isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE / 1000)
    return bool(one == other)


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    text = str(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
