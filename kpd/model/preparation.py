"""Defines what precedes the first iteration of a project's run: how its task is made, and the phases of that."""

from dataclasses import dataclass, field
from typing import Literal, get_args

from kpd.model.spending import Purpose, Spend

BeforePhase = Literal["check", "observe", "task"]
BEFORE: tuple[BeforePhase, ...] = get_args(BeforePhase)
"""The phases before a run's first iteration, in their order; those after its last one are a deployment's."""
PURPOSES: dict[BeforePhase, Purpose] = {"observe": "observe", "task": "harness"}
"""What a phase asks a model for; the others ask none."""


def account_of(run: str, project: str) -> str:
    """Return the name under which what models cost before a run's first iteration is on the account beside runs."""
    return f"{run} of {project}"


@dataclass(frozen=True, slots=True)
class TaskOrder:
    """How the task of a run is to be made of its project's kernel.

    `task` is the name of a new one (empty: the project's, numbered), `observed` the path of a table of launches that is
    taken instead of one run of the program. `writer` is the coding agent that writes the harness, and with `mailbox`
    whoever answers in a folder does; else a model. `tries` and `builds` are the answers that may be refused for their
    text, and for what compiler and GPU say. `given` is what the operator has said of the run's budget.
    """

    task: str = ""
    observed: str = ""
    top: int | None = None
    truth: Literal["oracle", "baseline"] = "oracle"
    mailbox: bool = False
    writer: str = ""
    tries: int = 3
    builds: int = 8
    arch: str = ""
    given: dict[str, int | float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PhaseResult:
    """What a phase came to. `anew`: it made something; else what was there is as it should be.

    `task` is the run's task, `of` the task whose harness it has. `lacks` are the things that the host lacks, and that
    the project may do without. `failed` is why the phase failed, `remedy` what helps; `infra`: the host, a service or
    money is at fault.
    """

    anew: bool = True
    task: str = ""
    of: str = ""
    lacks: tuple[str, ...] = ()
    failed: str = ""
    remedy: str = ""
    infra: bool = False


@dataclass(frozen=True, slots=True)
class Phase:
    """A phase that has begun at the Unix time `at`, and was begun `times` times, as a process of it may be killed.

    Without a `result` it is under way. `seconds` are those of its last time; `spend` is what all of them have cost.
    """

    name: BeforePhase
    at: float
    times: int = 1
    result: PhaseResult | None = None
    seconds: float = 0.0
    spend: dict[Purpose, Spend] = field(default_factory=dict)

    @property
    def done(self) -> bool:
        return self.result is not None and not self.result.failed
