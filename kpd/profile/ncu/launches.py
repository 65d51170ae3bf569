"""What a report of ncu holds, reader and version aside: one kernel launch with its values and NVIDIA's own advice."""

from dataclasses import dataclass, field
from typing import Literal

from kpd.model.profiles import Scope

Level = Literal["OPT", "INF", "WRN"]


@dataclass(frozen=True, slots=True)
class VendorAdvice:
    """What one of NVIDIA's rules says of a launch. `speedup_pct` is its estimate, as given, and `scope` of what."""

    rule: str
    level: Level
    text: str
    speedup_pct: float | None = None
    scope: Scope = ""


@dataclass(frozen=True, slots=True)
class ProfiledLaunch:
    """A kernel launch. `kernel` is the function's name without arguments, `ranges` the NVTX ranges around it.

    `metrics` are by ncu's own names, in base units; what was no number is not there.
    """

    kernel: str
    ranges: tuple[str, ...] = ()
    grid: tuple[int, ...] = ()
    block: tuple[int, ...] = ()
    metrics: dict[str, float] = field(default_factory=dict)
    advice: tuple[VendorAdvice, ...] = ()
