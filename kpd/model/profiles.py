"""Defines results of measuring and profiling: times of cases, findings of rules, a vendor's advice."""

from dataclasses import dataclass, field
from typing import Literal

from kpd.model.kinds import Kind, Told

Severity = Literal["high", "medium", "low"]
Scope = Literal["global", "local", ""]
"""What an estimate is of: a kernel's time, one unit of the hardware by itself, or nobody said."""
ESTIMATED: dict[Scope, str] = {"global": "up to {} less time", "local": "local: up to {}", "": "up to {}"}
"""How a share is told, by what it is of: only a global estimate is of the time."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that fired: the evidence it saw, and what to do about it. `rule` also names the skill file."""

    rule: str
    severity: Severity
    message: str
    action: str
    evidence: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Advice:
    """What a vendor's profiler says by itself: `rule` is its own name for it, `level` how it means it.

    OPT is something to gain, WRN something wrong, INF for information. `speedup_pct` is its estimate, None where it
    gives none; `cases` those it was said of. `agrees` is the id of kpd's own finding that says the same, empty without
    one. `scope` says of what the estimate is: only a global one is the share of the task's time that would be saved, a
    local one is how much more efficient one unit would become, which may save nothing. Older logs do not tell.
    """

    rule: str
    level: Literal["OPT", "INF", "WRN"]
    text: str
    speedup_pct: float | None = None
    cases: tuple[str, ...] = ()
    agrees: str = ""
    scope: Scope = ""


class MetricChange(Kind, frozen=True, tag="moved"):
    """A metric that differs from the incumbent's."""

    metric: str
    before: float
    after: float


Change = MetricChange | Told


@dataclass(frozen=True, slots=True)
class CaseTime:
    """One case of a task: median time of a call in microseconds, and what the machine's roofline allows for it.

    On a GPU also the candidate's time on the device alone, without what a launch costs the CPU, and its time a call
    with its data in the L2.
    """

    case: str
    candidate_us: float
    incumbent_us: float
    gain_pct: float
    bytes: float | None = None
    flops: float | None = None
    roofline_us: float | None = None
    device_us: float | None = None
    warm_us: float | None = None
