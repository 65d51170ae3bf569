"""Formats numbers, counts, durations and times, for every report alike."""

import time


def number(value: float | None) -> str:
    """Format a number with about four significant digits, and an exponent only for very large or small ones."""
    if value is None:
        return ""
    if value and not 1e-3 <= abs(value) < 1e7:
        return f"{value:.3e}"
    digits = 0 if abs(value) >= 1000 else 1 if abs(value) >= 100 else 2 if abs(value) >= 10 else 3
    text = f"{value:,.{digits}f}"
    return text if value % 1 or digits == 0 else f"{value:,.0f}"


def counted(count: float, what: str) -> str:
    """Format a count with its noun, whose plural is regular: 1 call, 2,000 launches, 1.5 hours."""
    noun = what if count == 1 else f"{what}es" if what.endswith(("s", "sh", "ch")) else f"{what}s"
    return f"{count:,} {noun}" if isinstance(count, int) else f"{count:g} {noun}"


def duration(seconds: float) -> str:
    """Format a duration: 0.4 s, 12 s, 3 min 20 s, 2 h 5 min, 3 d 4 h."""
    if seconds < 10:
        return f"{max(seconds, 0):.1f} s"
    whole = round(seconds)
    for big, small, size in (("d", "h", 86_400), ("h", "min", 3600), ("min", "s", 60)):
        if whole >= size:
            rest = whole % size // {"h": 3600, "min": 60, "s": 1}[small]
            return f"{whole // size} {big}" + (f" {rest} {small}" if rest else "")
    return f"{whole} s"


def moment(at: float) -> str:
    """Format a Unix time as day and time of day, in the local time zone; dashes for one of no calendar."""
    try:
        return time.strftime("%d %b %H:%M", time.localtime(at))
    except (OverflowError, OSError, ValueError):
        return "--"
