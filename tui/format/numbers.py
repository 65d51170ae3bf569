"""Formats numbers: four significant digits, the unit, and a sign where it matters."""

import math
from datetime import datetime, tzinfo

MINUS = "−"


def figure(value: float | None) -> str:
    """Format a measured value in about four digits; a dash when there is none."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    size = abs(value)
    if size >= 1e7:
        return _signed(f"{value:.3g}")
    if size >= 1000 or value == int(value):
        return _signed(f"{value:,.0f}")
    digits = 1 if size >= 100 else 2 if size >= 10 else 3
    return _signed(f"{value:.{digits}f}") if size >= 0.001 else _signed(f"{value:.2g}")


def compact(value: float | None) -> str:
    """Format like `figure`, but large counts in three digits: `1.68M`. The text has eight cells at most."""
    if value is not None and math.isfinite(value):
        for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e5, "k")):
            if size <= abs(value) < 1e15:
                return _signed(f"{value / (1e3 if letter == 'k' else size):.3g}{letter}")
    return figure(value)


def percent(value: float | None) -> str:
    """Format a value in percent, without a plus sign: `62 %`."""
    if value is None or not math.isfinite(value):
        return "–"
    return f"{_signed(f'{value:,.0f}' if abs(value) >= 9.95 else f'{value:.1f}')} %"


def change(value: float | None) -> str:
    """Format a signed change in percent: `+3.1 %`. Large values lose their decimals, never their digits."""
    if value is None or not math.isfinite(value):
        return "–"
    text = f"{value:+.1f}" if abs(value) < 99.95 else f"{value:+,.0f}"
    return f"{_signed(text)} %"


def moved(new: float | None, old: float | None) -> str:
    """Format how `new` differs from `old`: in percent, from tenfold on a factor (`17.3×`), `new` where `old` is 0."""
    if old == 0 and new and math.isfinite(new):
        return "new"
    by = delta(new, old)
    return f"{1 + by / 100:,.3g}×" if by is not None and 900 <= by < 1e5 else change(by)


def delta(new: float | None, old: float | None) -> float | None:
    """Compute how much `new` differs from `old`, in percent of `old`; None where that is not defined."""
    if new is None or old is None or old == 0 or not (math.isfinite(new) and math.isfinite(old)):
        return None
    return (new - old) / abs(old) * 100


def seconds(value: float | None) -> str:
    """Format a duration in seconds: `420 ms`, `4.2 s`, `12 s`, `3 min 20 s`, `2 h 05 min`."""
    if value is None or not math.isfinite(value) or value < 0:
        return "–"
    if value < 0.995:
        return f"{value * 1000:.0f} ms"
    if value < 9.95:
        return f"{value:.1f} s"
    if value < 59.5:
        return f"{value:.0f} s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def ago(value: float) -> str:
    """Format an age in seconds, roughly: `now`, `12 s ago`, `3 min ago`, `2 h ago`, `5 days ago`."""
    if value < 1.5:
        return "now"
    for size, unit in ((86_400, "days"), (3600, "h"), (60, "min")):
        if value >= 2 * size or (value >= size and unit != "days"):
            return f"{value / size:.0f} {unit} ago"
    return f"{value:.0f} s ago"


def clock(at: float, zone: tzinfo | None = None) -> str:
    """Format a Unix time as time of day, in the local time zone unless another one is given."""
    try:
        return datetime.fromtimestamp(at, zone).strftime("%H:%M:%S")
    except (OverflowError, OSError, ValueError):
        return "--:--:--"


def _signed(text: str) -> str:
    return text.replace("-", MINUS)
