"""Defines the status of a run and of an iteration: one class per status, each with its own data."""

from typing import Literal, get_args

from kpd.model.causes import IterationCause, RunCause
from kpd.model.kinds import Kind
from kpd.model.waits import Pause, Wait

StepName = Literal[
    "propose", "screen", "review", "stage", "build", "check", "time", "judge", "profile", "explain", "record"
]
STEPS: tuple[StepName, ...] = get_args(StepName)

DeviceUse = Literal["", "measures", "thinks"]
"""What a step has to do with the run's device: it measures there, or leaves it to others while somebody thinks."""
Outcome = Literal["baseline", "accepted", "rejected", "failed", "skipped", "interrupted", "infra"]
RunOutcome = Literal["improved", "no_gain", "failed", "stopped", "infra"]


class Queued(Kind, frozen=True):
    """It is not bound to a device yet; `wait` says what none is free for."""

    wait: Wait | None = None


class Running(Kind, frozen=True):
    wait: Wait | None = None


class Paused(Kind, frozen=True):
    """`infra`: trouble that is nobody's fault has paused it. A step that a person lets end may wait meanwhile."""

    cause: Pause
    infra: bool = False
    wait: Wait | None = None


class Ended(Kind, frozen=True):
    """`at` is Unix time."""

    outcome: RunOutcome
    cause: RunCause
    at: float


RunStatus = Queued | Running | Paused | Ended


class Stepping(Kind, frozen=True):
    """At `step` since the Unix time `since`, or before the first; `use` is the step's, empty once that is done."""

    step: StepName | None = None
    since: float = 0.0
    use: DeviceUse = ""
    attempt: int = 1


class Done(Kind, frozen=True):
    """`at` is Unix time. `exhausted`: its agent had nothing left to propose, for the rest of the run."""

    outcome: Outcome
    cause: IterationCause
    at: float
    exhausted: bool = False


IterationStatus = Stepping | Done
