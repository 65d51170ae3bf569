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
"""How a step uses the run's device: it measures there, or leaves it to other runs while a model or a person thinks."""
Outcome = Literal["baseline", "accepted", "rejected", "failed", "skipped", "interrupted", "infra", "measured", "held"]
RunOutcome = Literal["improved", "no_gain", "failed", "stopped", "infra"]


class Queued(Kind, frozen=True):
    """Waiting to be bound to a device; `wait` says why none is free for it."""

    wait: Wait | None = None


class Running(Kind, frozen=True):
    wait: Wait | None = None


class Paused(Kind, frozen=True):
    """Paused. `infra`: by trouble with a host, the disk, a service or money. A step that may still end can wait."""

    cause: Pause
    infra: bool = False
    wait: Wait | None = None


class Ended(Kind, frozen=True):
    """Over, since the Unix time `at`."""

    outcome: RunOutcome
    cause: RunCause
    at: float


RunStatus = Queued | Running | Paused | Ended


class Stepping(Kind, frozen=True):
    """At `step` since the Unix time `since`; None is before the first. `use` is the step's, empty once it is done."""

    step: StepName | None = None
    since: float = 0.0
    use: DeviceUse = ""
    attempt: int = 1


class Done(Kind, frozen=True):
    """Over, since the Unix time `at`. `exhausted`: its agent had nothing left to propose, for the rest of the run."""

    outcome: Outcome
    cause: IterationCause
    at: float
    exhausted: bool = False


IterationStatus = Stepping | Done
