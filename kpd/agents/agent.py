"""Defines the interface between the engine and agents."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn, Protocol, runtime_checkable

from kpd.claude.question import Ledger
from kpd.model.agents import AgentTraits
from kpd.model.events import Event
from kpd.model.exhaustion import AgentSays, ExhaustionReason
from kpd.model.fact import Fact
from kpd.model.iteration import Expectation, Iteration
from kpd.model.profiles import Advice, Change, Finding
from kpd.model.run import Run, Steering
from kpd.model.status import StepName
from kpd.model.toolbox import ToolVersion
from kpd.model.trials import TrialBudget
from kpd.model.waits import Wait
from kpd.text.waits import exhausted
from kpd.workspace.coding_agents import AgentConfig
from kpd.workspace.config import Config
from kpd.workspace.paths import Workspace
from kpd.workspace.task import Task


class Exhausted(Exception):
    """An agent's end: it has nothing left to propose, and `why`, in its own words or as data.

    The run ends when that holds for all its agents.
    """

    def __init__(self, why: str | ExhaustionReason) -> None:
        self.why: ExhaustionReason = AgentSays(why) if isinstance(why, str) else why
        super().__init__(exhausted(self.why))


class BadReply(Exception):
    """A reply that cannot be used. The agent is asked once more, with this message as the reason."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The agent's previous answer in this iteration, which failed in `step`; `files` are its candidate.

    They are empty when the answer itself could not be used (step "propose"). `message` is one line, `feedback` the rest
    of the output; `number` counts the failures of the iteration from 1 on.
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


ServeSession = Callable[[Path, Path, TrialBudget, Callable[[str], str]], AbstractAsyncContextManager[Path]]
"""A function that serves kpd's tools to an agent for as long as a block runs, on a socket whose path it returns.

It takes a folder for the socket, the tree in which the agent works, what its trials may use, and a function that
removes the values of keys from what the agent sends.
"""


def _no_session(*asked: object) -> AbstractAsyncContextManager[Path]:
    raise RuntimeError("only the engine serves the tools of a session")


def _no_log(*asked: object) -> NoReturn:
    raise RuntimeError("only the engine reads the log")


@dataclass(frozen=True, slots=True)
class Context:
    """All that an agent may know.

    `incumbent` holds the editable files to start from, which `task.editable` names; `folder` holds those to propose as
    they are. `metrics`, `findings`,
    `bottleneck` and `advice` are the incumbent's, without findings of rules that the operator has banned. `last` is the
    newest iteration that was profiled, and `changes` how its counters differ from what it was measured against. `runs`
    are all runs of the workspace. `home` is the iteration's own folder; `keep` writes an artefact (prompt.md, reply.md)
    into it. `say` shows live output, `tell` also on another
    channel than the agent's; `waits` shows what the agent waits for (None when it goes on). `ready` is awaited
    before anything that costs money, since the operator may have paused the run. `ledger` records what calls cost.
    `serve` serves kpd's tools to an agent that works in a folder of its own: `kpd mcp` finds the socket by KPD_SESSION.
    `events` reads those of the iteration so far; `record` adds a fact to them. `latest` returns the run as the log has
    it now, `run` is as it was when the agent was asked; `until` waits until it fulfils a condition. `tools` returns the
    tools that agents have built, as they are now, by `name@version`.
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
    serve: ServeSession = _no_session
    events: Callable[[], Iterable[Event]] = tuple
    tell: Callable[[str, str], None] = lambda channel, text: None
    latest: Callable[[], Run] = _no_log
    until: Callable[[Callable[[Run], bool]], Awaitable[None]] = _no_log
    record: Callable[[Fact], object] = lambda fact: None
    tools: Callable[[], Mapping[str, ToolVersion]] = dict


@dataclass(frozen=True, slots=True)
class Proposal:
    """A candidate's files by path, a line on why (`memo`), and what the agent expects to be measured.

    Only files that the task allows; those left out are the incumbent's, but for those in `removed`, which the candidate
    lacks. `aims` are the rules whose findings it means to remove; `tune` are the parameters that it leaves to a sweep,
    if the run has one.
    """

    files: dict[str, bytes]
    memo: str
    expected: Expectation | None = None
    point: dict[str, str] = field(default_factory=dict)
    aims: tuple[str, ...] = ()
    tune: dict[str, tuple[str, ...]] = field(default_factory=dict)
    removed: tuple[str, ...] = ()

    @classmethod
    def of_tree(cls, files: dict[str, bytes], start: Iterable[str], memo: str) -> "Proposal":
        """Return a proposal of exactly these files, in place of those in `start`."""
        return cls(files, memo, removed=tuple(path for path in start if path not in files))


class Agent(Protocol):
    """What an agent has to provide. An agent may inherit the usual answers from this class.

    `repairs` says whether it should get a failed build or check back to repair. `reads_steering` says whether it reads
    the operator's notes: others leave them to the next agent that does.
    """

    repairs: bool = False
    reads_steering: bool = False

    async def propose(self, context: Context) -> Proposal:
        """Return the next candidate.

        Raises Exhausted or BadReply. An agent that asks a model service also raises that service's Unavailable and
        OverBudget.
        """

    async def close(self) -> None:
        """Release what the agent holds (processes, connections)."""
        return


@runtime_checkable
class ReflectingAgent(Protocol):
    """An agent that can improve its own tools."""

    async def reflect(self, context: Context) -> None:
        """Improve the agent's tools after an iteration of its own has ended, in a run that wants that.

        What fails here is recorded, and is no trouble of the run.
        """


@dataclass(frozen=True, slots=True)
class AgentKind:
    """An agent as it is registered: an entry point of the group `kpd.agents` leads to one.

    `make` gets the config and the part of the agent's name after the colon, which `argument` describes:
    `script:FOLDER`. `refuse` says why that part cannot be used in a workspace, empty when it can. An agent that is
    `alone` takes no turns with others. What an `operators` agent proposes is a person's, so nobody is asked to approve
    it. `models`: it asks a model, so a run may choose which, and pays for it. An agent that `explores` has no turns of
    its own beside others: it searches the parameters that they left open. An agent that `waits` proposes nothing: its
    run measures a person's edits. One with an `own_key` asks its model by itself, and [claude] says nothing of it. One
    that `reflects` is a `ReflectingAgent`. `preset` are settings of it that hold where config.toml says nothing.
    """

    make: Callable[[Config, str], Agent]
    argument: str = ""
    alone: bool = False
    operators: bool = False
    models: bool = False
    explores: bool = False
    waits: bool = False
    own_key: bool = False
    reflects: bool = False
    preset: AgentConfig = field(default_factory=AgentConfig)
    refuse: Callable[[Workspace, str], str] = lambda workspace, of: ""

    @property
    def traits(self) -> AgentTraits:
        """The part of this that the log records with a run."""
        return AgentTraits(self.models, self.explores, self.operators, self.waits)
