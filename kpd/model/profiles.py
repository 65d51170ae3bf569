"""Defines results of measuring and profiling: times of cases, findings of rules, a vendor's advice."""

from dataclasses import dataclass, field
from typing import Literal

from kpd.model.kinds import Kind, Told
from kpd.model.verdicts import Gain

Severity = Literal["high", "medium", "low"]
Scope = Literal["global", "local", ""]
"""What an estimate is about: a kernel's time, one unit of the hardware by itself, or not stated."""
ESTIMATED: dict[Scope, str] = {"global": "up to {} less time", "local": "local: up to {}", "": "up to {}"}
"""How an estimated share is worded, by its scope: only a global estimate is about the time."""


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
    """What a vendor's profiler advises. `rule` is its own name for the advice, `level` how serious it takes it to be.

    OPT is something to gain, WRN something wrong, INF for information. `speedup_pct` is its estimate, None where it
    gives none; `cases` are the cases it is about. `agrees` is the id of kpd's own finding that says the same, or empty.
    `scope` says what the estimate is about: a global one is the share of the task's time that would be saved; a local
    one is how much more efficient one unit would become, which may save nothing. Older logs have no scope.
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
    """One case of a task: median time of a call in microseconds, its gain, and what the machine's roofline allows.

    `low_pct` and `high_pct` are the gain's 99 % interval, None in older logs. `weight` is how much the case counts.

    On a GPU also the candidate's and the incumbent's time on the device alone, without what a launch costs the CPU, the
    candidate's time a call with its data in the L2, and of a kernel in Python the time that a call keeps the host.
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
    incumbent_device_us: float | None = None
    low_pct: float | None = None
    high_pct: float | None = None
    weight: float = 1.0
    host_us: float | None = None

    @property
    def gain(self) -> Gain | None:
        """The gain with its interval; None in older logs, which have none."""
        if self.low_pct is None or self.high_pct is None:
            return None
        return Gain(self.gain_pct, self.low_pct, self.high_pct)


MANY_CASES = 12
"""From more cases than these, lists begin with the one that became slowest; fewer stay in the task's order."""
