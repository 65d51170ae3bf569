"""Defines what is recorded of a run as a whole: its terms, its start, what it waits for, its end."""

from dataclasses import dataclass, field

from kpd.model.agents import AgentTraits
from kpd.model.budget import Budget
from kpd.model.causes import RunCause
from kpd.model.fact import RunFact
from kpd.model.hosts import Confinement
from kpd.model.preparation import TaskOrder
from kpd.model.run import TaskState
from kpd.model.side import ComparedRun
from kpd.model.status import RunOutcome
from kpd.model.waits import Pause, Wait


@dataclass(frozen=True, slots=True)
class RunQueued(RunFact):
    task: str
    agent: str
    host: str
    budget: Budget
    by: str = ""
    approve: bool = False
    traits: dict[str, AgentTraits] = field(default_factory=dict)
    evolve: bool = False
    compared: ComparedRun | None = None
    task_state: TaskState = "continue"
    task_text: str = ""
    apart: bool = False
    devices: int = 1
    deploy: str = ""
    order: TaskOrder | None = None


@dataclass(frozen=True, slots=True)
class RunStarted(RunFact):
    """The run's start on a free device, to which it is bound from now on. An empty `host`: that of the queued run.

    `confinement` is what confines its candidates there; None in older logs. `driver` and `clocks` are those of its GPU,
    if known.
    """

    device: str
    host: str = ""
    device_id: str = ""
    confinement: Confinement | None = None
    driver: str = ""
    clocks: str = ""


@dataclass(frozen=True, slots=True)
class RunWaits(RunFact):
    """What the run waits for: a device, a link, a person's approval, or the like. None: nothing any more.

    With a `lane` beside the first it is what the iteration there waits for.
    """

    wait: Wait | None
    lane: int = 0


@dataclass(frozen=True, slots=True)
class RunPaused(RunFact):
    """A pause: no further step starts. With `infra`, trouble with a host, the disk, a service or money caused it."""

    cause: Pause
    by: str = ""
    infra: bool = False


@dataclass(frozen=True, slots=True)
class RunResumed(RunFact):
    by: str = ""


@dataclass(frozen=True, slots=True)
class DeadlinePassed(RunFact):
    """The hours of the run's budget are used, with `gpus` its GPU hours: nothing further is proposed."""

    gpus: bool = False


@dataclass(frozen=True, slots=True)
class RunEnded(RunFact):
    outcome: RunOutcome
    cause: RunCause
