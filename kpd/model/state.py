"""Defines the state: tasks, runs, iterations, hosts, notices, as frozen values.

Everything here crosses the socket and the event log, so fields hold only JSON's types, tuples and other such values.
"""

from dataclasses import dataclass, field
from itertools import takewhile
from typing import Literal

from kpd.model.agents import KNOWN, NONE, AgentTraits
from kpd.model.causes import IterationCause
from kpd.model.hosts import ANY, DeviceRef, HostCard, Need
from kpd.model.kinds import Told
from kpd.model.notices import Notice
from kpd.model.playback import Playback
from kpd.model.scores import Direction
from kpd.model.spending import NOTHING, OpenCall, Spend, day_of
from kpd.model.status import (
    STEPS as STEPS,
    DeviceUse as DeviceUse,
    Done,
    Ended,
    IterationStatus,
    Outcome as Outcome,
    Paused,
    Queued,
    Running,
    RunStatus,
    StepName as StepName,
    Stepping,
)
from kpd.model.verdicts import Gain as Gain, Verdict as Verdict
from kpd.model.waits import EditedDuring, Hold, Wait

VerdictWord = Literal["faster", "slower", "same", "inconclusive"]
COUNTED: tuple[Outcome, ...] = ("accepted", "rejected", "failed")
"""Outcomes that use up a run's budget; infrastructure trouble, skips and interruptions do not."""
RuleSetting = Literal["pinned", "banned", "plain"]
"""What an operator decided on a rule: agents hear of it first (pinned), never (banned), or by its severity."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What a run may spend. `patience` counts iterations in a row without an accepted one.

    `usd` is dollars for calls to models; 0 is no limit.
    """

    iterations: int = 6
    patience: int = 4
    min_gain_pct: float = 2.0
    stop_score: float | None = None
    fix_attempts: int = 8
    usd: float = 0.0


@dataclass(frozen=True, slots=True)
class Expectation:
    """What the agent expects before anything is measured: a metric, its direction, a gain in percent."""

    metric: str
    direction: Literal["up", "down"]
    gain_pct: float | None = None


@dataclass(frozen=True, slots=True)
class Steering:
    """A line from the operator to the agent, queued until an iteration consumes it."""

    note: int
    text: str
    by: str
    at: float
    consumed_by: int | None = None


@dataclass(frozen=True, slots=True)
class Remeasure:
    """An operator's wish to measure iteration `of` once more; `thorough`: with all processes that a verdict can use."""

    of: int
    thorough: bool
    by: str


@dataclass(frozen=True, slots=True)
class Override:
    """A person's acceptance of an iteration against its verdict; `reason` is in that person's words, or empty."""

    by: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class TaskCard:
    """A task as the daemon last read it; `error` is set when its folder is refused."""

    name: str
    summary: str = ""
    language: str = ""
    editable: tuple[str, ...] = ()
    score: str = "us"
    direction: Direction = "lower"
    tunable: int = 0
    need: Need = ANY
    error: str = ""


@dataclass(frozen=True, slots=True)
class Iteration:
    """One attempt inside a run, in brief; its metrics, findings and files are read on demand (see `detail`).

    `edit` names the operator's edit that it measures, a folder in the run's `edits/`. `memo_given`: a person has
    written its memo. `aims` are the rules whose findings its agent meant to remedy; `tune` are parameters that the
    agent was unsure of, for a sweep to explore. `again` is the iteration whose files it measures once more, `thorough`
    with all processes. `review` says whether the candidate waits for a person, or what that person decided; empty
    where none was asked.
    """

    number: int
    agent: str
    parent: int
    started: float
    status: IterationStatus = field(default_factory=Stepping)
    memo: str = ""
    memo_given: bool = False
    edit: str = ""
    point: dict[str, str] = field(default_factory=dict)
    expected: Expectation | None = None
    aims: tuple[str, ...] = ()
    tune: dict[str, tuple[str, ...]] = field(default_factory=dict)
    spend: Spend = NOTHING
    score: float | None = None
    verdict: Verdict | None = None
    override: Override | None = None
    roofline_pct: float | None = None
    bottleneck: str = ""
    rules: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    again: int | None = None
    thorough: bool = False
    review: Literal["", "waits", "approved", "declined"] = ""

    @property
    def under_way(self) -> Stepping | None:
        """The step under way and its data; None once the iteration has ended."""
        return self.status if isinstance(self.status, Stepping) else None

    @property
    def step(self) -> StepName | None:
        """The step under way; None before the first one, and once it has ended."""
        return self.status.step if isinstance(self.status, Stepping) else None

    @property
    def outcome(self) -> Outcome | None:
        return self.status.outcome if isinstance(self.status, Done) else None

    @property
    def cause(self) -> IterationCause | None:
        """Why it ended; None while it is under way."""
        return self.status.cause if isinstance(self.status, Done) else None

    @property
    def ended(self) -> float | None:
        return self.status.at if isinstance(self.status, Done) else None

    @property
    def steps(self) -> tuple[StepName, ...]:
        """The steps it goes through: a review only where a person is asked for one."""
        return STEPS if self.review or self.step == "review" else tuple(step for step in STEPS if step != "review")

    @property
    def counts(self) -> bool:
        """Whether it uses up its run's budget: an iteration that was measured once more on request does not."""
        return self.outcome in COUNTED and self.again is None


@dataclass(frozen=True, slots=True)
class Run:
    """One attempt to improve a task under a budget.

    `agent` can name several agents that take turns, separated by commas. `incumbent` is the number of the accepted
    iteration to beat (None before the baseline) and `files` its editable files (path → sha256). `folder` is what the
    task folder holds as kpd last knew it, so that an edit is a difference; `pending_edit` is such an edit until its
    iteration begins. `pinned` are the protected files that the run began with. `host` is empty until a host is chosen,
    if any will do. `device` names the device that the run began on, `device_id` is its id: it goes on nowhere else.
    `asked` counts its calls to models, of which `calls` are those under way. `approve`: candidates wait for a person.
    `model` is the operator's, in place of the config's; `stands` are the rules that are pinned or banned. `again`
    are iterations to be measured once more, the next one first. `traits` are the traits of its agents, former ones too,
    by name: see `trait`. `before` is the incumbent from before the last decision of a person, to undo it. `turn` orders
    the queue, the lowest first.
    """

    id: str
    task: str
    agent: str
    host: str
    budget: Budget
    queued: float
    status: RunStatus = field(default_factory=Queued)
    device: str = ""
    device_id: str = ""
    incumbent: int | None = None
    files: dict[str, str] = field(default_factory=dict)
    folder: dict[str, str] = field(default_factory=dict)
    pinned: dict[str, str] = field(default_factory=dict)
    steering: tuple[Steering, ...] = ()
    pending_edit: dict[str, str] = field(default_factory=dict)
    conflict: EditedDuring | Told | None = None
    stale: tuple[str, ...] = ()
    iterations: tuple[Iteration, ...] = ()
    spend: Spend = NOTHING
    asked: int = 0
    calls: tuple[OpenCall, ...] = ()
    approve: bool = False
    model: str = ""
    stands: dict[str, RuleSetting] = field(default_factory=dict)
    again: tuple[Remeasure, ...] = ()
    traits: dict[str, AgentTraits] = field(default_factory=dict)
    before: int | None = None
    turn: int = 0
    started: float | None = None

    @property
    def begun(self) -> bool:
        """Whether it is bound to a device now: running or paused."""
        return isinstance(self.status, Running | Paused)

    @property
    def paused(self) -> bool:
        return isinstance(self.status, Paused)

    @property
    def over(self) -> bool:
        return isinstance(self.status, Ended)

    @property
    def waiting(self) -> Wait | None:
        """What it waits for, beside a pause or without one."""
        return None if isinstance(self.status, Ended) else self.status.wait

    @property
    def place(self) -> DeviceRef:
        """The host and the device that a run which has begun is bound to."""
        return self.host, self.device_id or "cpu"

    @property
    def measures(self) -> bool:
        """Whether it measures now, unless the queue is held. A run that waits for the device or its lease does not."""
        if not self.begun or self.waiting or (isinstance(self.status, Paused) and self.status.infra):
            return False
        now = self.current.under_way if self.current is not None else None
        return now is not None and now.use == "measures"

    @property
    def agents(self) -> tuple[str, ...]:
        """The agents that take turns."""
        return tuple(self.agent.split(","))

    def trait(self, agent: str) -> AgentTraits:
        """Return the traits of an agent, also one of a former or a special iteration; `NONE` where they are unknown."""
        return self.traits.get(agent) or KNOWN.get(agent, NONE)

    @property
    def explorer(self) -> str:
        """The agent that searches what the others were unsure of; empty without one, or without others."""
        explores = [agent for agent in self.agents if self.trait(agent).explores]
        return explores[0] if explores and len(explores) < len(self.agents) else ""

    @property
    def waits_for_edits(self) -> bool:
        """Whether none of its agents proposes anything."""
        return all(self.trait(agent).waits for agent in self.agents)

    @property
    def reserved_usd(self) -> float:
        """What the calls under way can cost at most."""
        return sum(call.most_usd or 0.0 for call in self.calls)

    @property
    def current(self) -> Iteration | None:
        """The iteration under way, or None between iterations."""
        last = self.iterations[-1] if self.iterations else None
        return last if last is not None and last.outcome is None else None

    @property
    def counted(self) -> tuple[Iteration, ...]:
        """The iterations that count against the budget."""
        return tuple(it for it in self.iterations if it.counts)

    @property
    def without_gain(self) -> tuple["Iteration", ...]:
        """The iterations that count since one was accepted."""
        since = takewhile(lambda it: it.outcome != "accepted", reversed(self.iterations))
        return tuple(it for it in since if it.counts)

    @property
    def baseline(self) -> Iteration | None:
        return next((it for it in self.iterations if it.outcome == "baseline"), None)

    @property
    def best(self) -> Iteration | None:
        """The incumbent's iteration."""
        return None if self.incumbent is None else self.iteration(self.incumbent)

    def iteration(self, number: int) -> Iteration | None:
        if 0 <= number < len(self.iterations) and self.iterations[number].number == number:
            return self.iterations[number]
        return next((it for it in self.iterations if it.number == number), None)


@dataclass(frozen=True, slots=True)
class State:
    """The fold of every event up to `seq`: all that a client sees.

    `days` is what was spent on each day (2026-11-21, UTC). `playback` is set where a recorded run is being played, so
    that none of it happens now.
    """

    seq: int = 0
    at: float = 0.0
    version: str = ""
    pid: int | None = None
    workspace: str = ""
    held: Hold | None = None
    tasks: dict[str, TaskCard] = field(default_factory=dict)
    hosts: dict[str, HostCard] = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)
    notices: tuple[Notice, ...] = ()
    days: dict[str, Spend] = field(default_factory=dict)
    playback: Playback | None = None

    def spent_on(self, at: float) -> Spend:
        """Return what was spent on the day of the Unix time `at`."""
        return self.days.get(day_of(at), NOTHING)

    def direction(self, run: Run) -> Direction:
        """Return whether lower or higher scores of the run are better; "lower" where its task is gone."""
        card = self.tasks.get(run.task)
        return "lower" if card is None else card.direction

    @property
    def queue(self) -> tuple[Run, ...]:
        """Runs that wait for their turn, in order."""
        waiting = (run for run in self.runs.values() if isinstance(run.status, Queued))
        return tuple(sorted(waiting, key=lambda run: run.turn))

    @property
    def begun(self) -> tuple[Run, ...]:
        """The runs that are bound to a device, running or paused, oldest first."""
        return tuple(run for run in self.runs.values() if run.begun)

    @property
    def active(self) -> Run | None:
        """The newest run that is bound to a device, running or paused."""
        return next((run for run in reversed(self.runs.values()) if run.begun), None)
