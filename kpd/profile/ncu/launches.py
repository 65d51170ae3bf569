"""Defines the content of an ncu report, independent of reader and version: launches with values and advice."""

import math
import re
from dataclasses import dataclass, field
from typing import Literal

from kpd.model.profiles import Scope

Level = Literal["OPT", "INF", "WRN"]


@dataclass(frozen=True, slots=True)
class VendorAdvice:
    """What one of NVIDIA's rules says of a launch. `speedup_pct` is its estimate, as given, `scope` what that is of."""

    rule: str
    level: Level
    text: str
    speedup_pct: float | None = None
    scope: Scope = ""


@dataclass(frozen=True, slots=True)
class ProfiledLaunch:
    """A kernel launch. `kernel` is the function's name without arguments, `ranges` the NVTX ranges around it.

    `metrics` are by ncu's own names, in base units; values that are not numbers are left out.
    """

    kernel: str
    ranges: tuple[str, ...] = ()
    grid: tuple[int, ...] = ()
    block: tuple[int, ...] = ()
    metrics: dict[str, float] = field(default_factory=dict)
    advice: tuple[VendorAdvice, ...] = ()


_DECIMAL = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_SECONDS = {"": 1.0, "m": 1e-3, "u": 1e-6, "n": 1e-9, "p": 1e-12}
_TIME = re.compile(r"(?P<prefix>[munp]?)(s|second|seconds)")
_SIZE = re.compile(r"(?P<prefix>[KMGTP]?)(byte|bytes)")
_RATE = re.compile(r"(?P<prefix>[KMGTP]?)hz", re.IGNORECASE)


def factor(unit: str) -> float:
    """Return the factor that converts `unit` to base units; 1 for a count or a percentage.

    ncu's K, M and G are powers of 1000. A rate becomes one per second: "cycle/nsecond", as older versions give a clock,
    becomes hertz.
    """
    above, _, below = unit.strip().partition("/")
    a_time = _TIME.fullmatch(below)
    return _whole(above) / (_SECONDS[a_time["prefix"]] if a_time else 1.0)


def _whole(unit: str) -> float:
    if time := _TIME.fullmatch(unit):
        return _SECONDS[time["prefix"]] * 1e9
    if size := _SIZE.fullmatch(unit):
        return _DECIMAL[size["prefix"]]
    if rate := _RATE.fullmatch(unit):
        return _DECIMAL[rate["prefix"].upper()]
    return 1.0


def base(value: float, unit: str) -> float | None:
    """Convert the value to base units; None when it is not a finite number."""
    found = value * factor(unit)
    return found if math.isfinite(found) else None
