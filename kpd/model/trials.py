"""Defines the facts of what an agent does with kpd's tools in a session: its trials, and every call of a tool.

A trial is a quick measurement that an agent asks for inside an iteration. It decides nothing: no trial is accepted, and
none is a best result.
"""

from dataclasses import dataclass, field
from typing import Literal

from kpd.model.fact import IterationFact
from kpd.model.faults import CandidateFault
from kpd.model.flags import Flag
from kpd.model.profiles import CaseTime
from kpd.model.verdicts import Gain
from kpd.model.waits import HostTrouble

TrialEnd = Literal["measured", "not_built", "wrong", "trouble", "cut"]
"""How a trial ended: with figures, with a fault of the files (`not_built`, `wrong`), with trouble of the host, or
because its session or daemon ended meanwhile, or its seconds on the device were used up (`cut`)."""

LISTING = "tools/list"
"""What an agent asks a server for when it starts it; it is counted as no call of a tool."""


@dataclass(frozen=True, slots=True)
class TrialBudget:
    """What the trials of one iteration may use: how many there may be, and seconds on the device in all."""

    trials: int = 20
    device_s: float = 600.0


@dataclass(frozen=True, slots=True)
class TrialStarted(IterationFact):
    """The start of trial number `trial` of an iteration, with its files (path → sha256)."""

    trial: int
    files: dict[str, str]


@dataclass(frozen=True, slots=True)
class Tried(IterationFact):
    """The end of a trial against iteration `against`. `gain` and `cases` are there when it was measured.

    `device_s` are the seconds in which it had the device. `fault` is what is wrong with the files, and `feedback` the
    compiler's output. `trouble` is the host's. `flags` are what looks suspicious. With `profiled`, its metrics are in
    the iteration's folder.
    """

    trial: int
    end: TrialEnd
    against: int
    device_s: float = 0.0
    gain: Gain | None = None
    processes: int = 0
    cases: tuple[CaseTime, ...] = ()
    fault: CandidateFault | None = None
    feedback: str = ""
    trouble: HostTrouble | None = None
    flags: tuple[Flag, ...] = ()
    profiled: bool = False


@dataclass(frozen=True, slots=True)
class ToolCalled(IterationFact):
    """A call of a tool by an agent: the server that has the tool, the milliseconds, and whether it succeeded.

    `arguments` are the sizes of the arguments in bytes, by name; their values are not kept. `result` is the size of the
    answer in bytes.
    """

    server: str
    tool: str
    ok: bool
    ms: float
    arguments: dict[str, int] = field(default_factory=dict)
    result: int = 0
