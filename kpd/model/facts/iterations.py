"""Defines what is recorded of an iteration besides what its steps find: its start, faults on the way, and its end."""

from dataclasses import dataclass
from typing import Literal

from kpd.model.causes import IterationCause
from kpd.model.fact import IterationFact
from kpd.model.faults import CandidateFault
from kpd.model.iteration import Confirming, Override
from kpd.model.status import DeviceUse, Outcome, StepName
from kpd.model.waits import HostTrouble


@dataclass(frozen=True, slots=True)
class IterationStarted(IterationFact):
    """The start of an iteration. `again`, `thorough`, `confirming` and `lane` are as in `Iteration`."""

    agent: str
    parent: int
    edit: str = ""
    again: int | None = None
    thorough: bool = False
    confirming: Confirming = ""
    lane: int = 0


@dataclass(frozen=True, slots=True)
class StepStarted(IterationFact):
    """The start of a step. `use` is what the step has to do with the run's device."""

    step: StepName
    attempt: int = 1
    use: DeviceUse = ""


@dataclass(frozen=True, slots=True)
class Faulted(IterationFact):
    """A candidate's fault that went back to its agent for attempt `attempt + 1`.

    `feedback` is what the agent is told beyond the fault; it can be several lines.
    """

    step: StepName
    attempt: int
    fault: CandidateFault
    feedback: str = ""


@dataclass(frozen=True, slots=True)
class MeasurementBroken(IterationFact):
    """Trouble of the host in a step that went well with the incumbent in the candidate's place, if there is one.

    The candidate is tried again; when the trouble comes back often enough, it is rejected. A profiler's trouble costs
    the counters only.
    """

    step: StepName
    attempt: int
    trouble: HostTrouble


@dataclass(frozen=True, slots=True)
class IterationEnded(IterationFact):
    """The end of an iteration. `exhausted`: its agent had nothing left to propose, and takes no more turns."""

    outcome: Outcome
    cause: IterationCause
    exhausted: bool = False


@dataclass(frozen=True, slots=True)
class Accepted(IterationFact):
    """The acceptance of an iteration as the incumbent; with `override`, a person decided so against the verdict."""

    files: dict[str, str]
    override: Override | None = None


@dataclass(frozen=True, slots=True)
class GaveWay(IterationFact):
    """A return to iteration `iteration` as the incumbent, in place of `unheld`.

    That one was no faster than the baseline in a "contest", or the "sanitizer" found a fault in it.
    """

    files: dict[str, str]
    unheld: int
    why: Literal["contest", "sanitizer"] = "contest"
