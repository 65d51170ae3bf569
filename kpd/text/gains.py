"""Formats speed-ups and gains, for every screen, report and prompt alike.

A speed-up is told as `7.19×`, a slowdown as `0.14× (7.1× slower)`; below 20 % either way as `3.1 % less time`.
"""

from math import inf, isfinite, isnan

from kpd.model.verdicts import Gain, Speedup, ratio_of

MINUS = "−"
SMALL_PCT = 20.0
"""From this change of the time on, a gain is told as a factor."""
NEAR = (0.9, 1.2)
"""Between these, factors have a third decimal: 1.03× would hide what 1.034× shows."""


def times(ratio: float) -> str:
    """Format a factor in about three digits: `7.19×`, `1.034×`, `0.14×`, `14,711×`."""
    if isnan(ratio):
        return "–"
    if not isfinite(ratio):
        return "∞×"
    digits = 3 if NEAR[0] <= ratio < NEAR[1] else 2 if 0.095 <= ratio < 9.995 else 1 if 9.995 <= ratio < 99.95 else 0
    return f"{ratio:.2g}×" if 0 < ratio < 0.095 else f"{ratio:,.{digits}f}×"


def speedup(found: Speedup) -> str:
    """Format a speed-up with its interval: `7.19× [7.01, 7.38]`, `0.14× [0.13, 0.15] (7.1× slower)`."""
    return f"{column(found)}{_slower(found.ratio)}"


def column(found: Speedup) -> str:
    """Format a speed-up for a column: `7.19× [7.01, 7.38]`."""
    return f"{times(found.ratio)} {ends(found)}"


def ends(found: Speedup) -> str:
    """Format the interval of a speed-up alone: `[7.01, 7.38]`."""
    return f"[{_plain(found.low)}, {_plain(found.high)}]"


def cell(found: Gain) -> str:
    """Format a gain for a column, as a factor with half its interval: `1.034× ±0.004`."""
    of = found.speedup
    half = (of.high - of.low) / 2
    if not isfinite(half) or half >= of.ratio:
        return times(of.ratio)
    text = times(of.ratio)
    digits = len(text.removesuffix("×").partition(".")[2])
    return f"{text} ±{half:.{digits}f}"


def gain(found: Gain) -> str:
    """Format a gain with its interval: `3.1 % less time [2.4, 3.8]`, or as a factor from a fifth on."""
    if max(abs(found.pct), abs(found.low), abs(found.high)) >= SMALL_PCT:
        return speedup(found.speedup)
    ends = (found.low, found.high) if found.pct >= 0 else (-found.high, -found.low)
    return f"{less_time(found.pct)} [{signed(ends[0])}, {signed(ends[1])}]"


def brief(pct: float) -> str:
    """Format a share of time saved, in percent, without an interval: `3.1 % less time`, `7.19×`."""
    if abs(pct) < SMALL_PCT:
        return less_time(pct)
    ratio = ratio_of(pct)
    return f"{times(ratio)}{_slower(ratio)}"


def less_time(pct: float) -> str:
    """Format a share of time saved: `3.1 % less time`, `2.7 % more time`; never with a sign."""
    return f"{abs(pct):.1f} % {'less' if pct >= 0 else 'more'} time"


def signed(value: float, digits: int = 1) -> str:
    """Format a number with a real minus where it is negative, and never a negative zero."""
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text.replace("-", MINUS)


def _plain(ratio: float) -> str:
    return times(ratio).removesuffix("×")


def _slower(ratio: float) -> str:
    """Say how many times slower; empty for what is not at least a fifth slower."""
    if ratio > 1 - SMALL_PCT / 100 or ratio < 0:
        return ""
    by = inf if ratio == 0 else 1 / ratio
    return f" ({by:,.1f}× slower)" if by < 99.95 else f" ({by:,.0f}× slower)"
