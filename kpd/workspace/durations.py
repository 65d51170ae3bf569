"""Reads the durations that people write."""

import re

DURATION = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,3})?)([smh])")


def duration(text: str) -> float:
    """Return the seconds of `90s`, `20m` or `1.5h`. Raises ValueError."""
    found = DURATION.fullmatch(text)
    if found is None or not float(found[1]):
        raise ValueError(f"{text!r} is no duration")
    return float(found[1]) * {"s": 1, "m": 60, "h": 3600}[found[2]]
