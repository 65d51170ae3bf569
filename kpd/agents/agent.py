"""Defines the interface between the engine and agents."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from kpd.claude.question import Ledger
from kpd.model.agents import AgentTraits
from kpd.model.exhaustion import AgentSays, ExhaustionReason
from kpd.model.profiles import Advice, Change, Finding
from kpd.model.state import Expectation, Iteration, Run, Steering, StepName
from kpd.model.waits import Wait
from kpd.text.waits import exhausted
from kpd.workspace.config import Config
from kpd.workspace.paths import Workspace
from kpd.workspace.task import Task


class Exhausted(Exception):
    """The agent has nothing left to propose, and `why`: in its own words, or as data.

    The run ends when that holds for all agents.
    """

    def __init__(self, why: str | ExhaustionReason) -> None:
        self.why: ExhaustionReason = AgentSays(why) if isinstance(why, str) else why
        super().__init__(exhausted(self.why))


class BadReply(Exception):
    """What the agent said cannot be used; it is asked once more, with this message as the reason."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What became of the agent's previous answer in this iteration: `files` are the candidate that failed in `step`.

    They are empty when the answer itself could not be used (step "propose"). `message` is a line, `feedback` what else
    was said; `number` counts the failures of the iteration from 1 on.
    """

    step: StepName
    message: str
    feedback: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    number: int = 1


@dataclass(frozen=True, slots=True)
class SweepBase:
    """Where a sweep starts, and what it varies: an iteration's files and the parameters its agent was unsure of."""

    number: int
    files: dict[str, bytes]
    tune: dict[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Context:
    """All an agent may know.

    `incumbent` holds the editable files to start from, `folder` those to propose as they are. `metrics`, `findings`,
    `bottleneck` and `advice` are of the incumbent, without findings of rules that the operator has banned; `changes` is
    what moved in `last`, the newest iteration that was profiled, against what it had been measured against. `runs` are
    all runs there are. `home` is the iteration's own folder; `keep` puts an artefact (prompt.md, reply.md) into it.
    `say` shows live output, `waits` for what the agent waits (None when it goes on); `ready` is
    awaited before anything that costs money, since the operator may have paused the run. `ledger` keeps the accounts of
    calls that cost money.
    """

    task: Task
    run: Run
    number: int
    incumbent: dict[str, bytes]
    folder: Path
    home: Path
    workspace: Workspace
    say: Callable[[str], None]
    keep: Callable[[str, str | bytes], None]
    waits: Callable[[Wait | None], None]
    ready: Callable[[], Awaitable[None]]
    ledger: Ledger
    device: str = ""
    arch: str = ""
    findings: tuple[Finding, ...] = ()
    metrics: dict[str, float] = field(default_factory=dict)
    bottleneck: str = ""
    advice: tuple[Advice, ...] = ()
    changes: tuple[Change, ...] = ()
    last: Iteration | None = None
    runs: tuple[Run, ...] = ()
    steering: tuple[Steering, ...] = ()
    failure: Failure | None = None
    base: SweepBase | None = None


@dataclass(frozen=True, slots=True)
class Proposal:
    """Candidate files by path, a line on why, and what the agent expects to see measured.

    Only editable files; what is left out stays the incumbent's. `aims` are the rules it means to silence; `tune` are
    parameters that it leaves to a sweep, if the run has one.
    """

    files: dict[str, bytes]
    memo: str
    expected: Expectation | None = None
    point: dict[str, str] = field(default_factory=dict)
    aims: tuple[str, ...] = ()
    tune: dict[str, tuple[str, ...]] = field(default_factory=dict)


class Agent(Protocol):
    """`repairs` says whether a failed build or check is worth sending back to it, `reads_steering` whether it heeds the
    operator's notes: others leave them to the next agent that does. An agent may inherit from this what is usual."""

    repairs: bool = False
    reads_steering: bool = False

    async def propose(self, context: Context) -> Proposal:
        """Return the next candidate. Raises Exhausted or BadReply; of a model service also its Unavailable and OverBudget."""

    async def close(self) -> None:
        """Let go of whatever the agent holds (processes, connections)."""
        return


@dataclass(frozen=True, slots=True)
class AgentKind:
    """An agent as it is registered: an entry point of the group `kpd.agents` leads to one.

    `make` gets the config and what the run's agent has after a colon, which `argument` names: `script:FOLDER`. `refuse`
    says why that cannot be used in a workspace, empty when it can. One that is `alone` takes no turns with others; what
    an `operators` one proposes is a person's, so nobody is asked to approve it. `models` says that it asks a model, so
    that a run may choose which, and pays for it. One that `explores` has no turns of its own beside others: it searches
    the parameters that they were unsure of. One that `waits` proposes nothing: its run measures a person's edits.
    """

    make: Callable[[Config, str], Agent]
    argument: str = ""
    alone: bool = False
    operators: bool = False
    models: bool = False
    explores: bool = False
    waits: bool = False
    refuse: Callable[[Workspace, str], str] = lambda workspace, of: ""

    @property
    def traits(self) -> AgentTraits:
        """What of this is told with a run."""
        return AgentTraits(self.models, self.explores, self.operators, self.waits)
