"""Defines a run, an attempt to improve a task under a budget, as a frozen value."""

from dataclasses import dataclass, field
from itertools import takewhile
from typing import Literal

from kpd.model.agents import BASELINE, KNOWN, NONE, AgentTraits
from kpd.model.budget import Budget
from kpd.model.causes import GpuHoursUsed, HoursUsed
from kpd.model.hosts import Confinement, DeviceKind, DeviceRef, FormerKind
from kpd.model.iteration import Iteration, Remeasure
from kpd.model.kinds import Told
from kpd.model.preparation import BEFORE, BeforePhase, Phase, TaskOrder
from kpd.model.side import ComparedRun
from kpd.model.spending import NOTHING, OpenCall, Spend
from kpd.model.status import Ended, Paused, Queued, Running, RunStatus
from kpd.model.waits import EditedDuring, ForTurn, Wait

RuleSetting = Literal["pinned", "banned", "plain"]
"""What an operator decided on a rule: agents hear of it first (pinned), never (banned), or by its severity."""
OwnFiles = Literal["right", "absent", "wrong"]
"""What a task says of its own editable files. Where they are not right, the first right candidate is the baseline."""
TaskState = Literal["continue", "reset"]
"""Whether a session of a coding agent begins with the incumbent's files, or with the task's own."""


@dataclass(frozen=True, slots=True)
class Steering:
    """A line from the operator to the agent, queued until an iteration consumes it."""

    note: int
    text: str
    by: str
    at: float
    consumed_by: int | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """One attempt to improve a task under a budget.

    `agent` can name several agents that take turns, separated by commas. `incumbent` is the number of the accepted
    iteration to beat (None before the baseline) and `files` its editable files (path → sha256). `folder` is what the
    task folder holds as kpd last knew it, so that an edit is a difference; `pending_edit` is such an edit until its
    iteration begins. `pinned` are the protected files that the run began with. `host` is empty until a host is chosen,
    if any will do. `device` names its device, `device_id` is its id: it goes on nowhere else, but on a host that is
    lent with one of the same name, `driver` and `clocks`, or, with a new baseline, another: the iterations from
    `since` on are those on the present kind, `former` are the others.
    `asked` counts its calls to models, of which `calls` are those under way. `approve`: candidates wait for a person.
    `model` is the operator's, in place of the config's; `stands` are the rules that are pinned or banned. `again`
    are iterations to be measured once more, the next one first. `traits` are the traits of its agents, former ones too,
    by name: see `trait`. `before` is the incumbent from before the last decision of a person, to undo it. `turn` orders
    the queue, the lowest first. `unchecked`: nothing compares the results of its candidates. `reopened` is how it
    had ended: it goes on only to measure what a person brought back. `confinement` is what confines its candidates.
    `own_files` is what its task says of the files that it began with. `sanitizes`: its winners are provisional until
    they have passed their last checks. `evolve`: its coding agents may build tools. `compared` is its place in a
    comparison: it works on a copy, has the tools named there, and leaves nothing in memory. `task_text` are the
    operator's words on the task, for agents that are prompted. The hours of its budget count from `clock`, a Unix time,
    and `late` means that they are used, or, with `gpus_used`, its GPU hours. `pruned` are iterations whose files
    were removed. `apart`: it works on a copy beside other runs of its task. `devices` is how many devices it
    wants, 0 for all; `more` are those of its further lanes, each with an iteration of its own under way: a GPU is there
    twice, as the next candidate is prepared while one is measured. The lanes in `away` have no device until an
    allocation brings one.
    `lane_waits` is what the iterations of further lanes wait for. `deploy` is the project into which its winner is
    brought when it has ended; `deploys` counts the times that this was begun, and `undeployed` says why kpd has
    given it up. `order` says how its task is made of that project's kernel, `phases` are those before its first
    iteration so far; until its task is made, `task` is the name that one may have.
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
    driver: str = ""
    clocks: str = ""
    since: int = 0
    former: tuple[FormerKind, ...] = ()
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
    unchecked: bool = False
    reopened: Ended | None = None
    confinement: Confinement | None = None
    own_files: OwnFiles = "right"
    sanitizes: bool = False
    evolve: bool = False
    compared: ComparedRun | None = None
    task_state: TaskState = "continue"
    task_text: str = ""
    clock: float | None = None
    late: bool = False
    gpus_used: bool = False
    pruned: tuple[int, ...] = ()
    apart: bool = False
    devices: int = 1
    more: tuple[DeviceRef, ...] = ()
    away: tuple[int, ...] = ()
    lane_waits: dict[int, Wait] = field(default_factory=dict)
    deploy: str = ""
    deploys: int = 0
    undeployed: str = ""
    order: TaskOrder | None = None
    phases: tuple[Phase, ...] = ()

    @property
    def phases_wanted(self) -> tuple[BeforePhase, ...]:
        """The phases before its first iteration; none where its task was there."""
        if self.order is None:
            return ()
        return tuple(phase for phase in BEFORE if phase != "observe" or not self.order.observed)

    @property
    def next_phase(self) -> BeforePhase | None:
        """The phase that it is at, or that comes next; None where all are done."""
        done = {phase.name for phase in self.phases if phase.done}
        return next((phase for phase in self.phases_wanted if phase not in done), None)

    @property
    def at_phase(self) -> Phase | None:
        """The phase under way."""
        last = self.phases[-1] if self.phases and not self.over else None
        return last if last is not None and last.result is None else None

    @property
    def unprepared(self) -> bool:
        """Whether it has no task yet."""
        return self.next_phase is not None

    @property
    def shown(self) -> bool:
        """Whether the task folder shows its incumbent, and an edit there is its next iteration."""
        return not self.apart and self.compared is None

    @property
    def begun(self) -> bool:
        """Whether it is bound to a device now: running or paused."""
        return isinstance(self.status, Running | Paused)

    @property
    def deadline(self) -> float | None:
        """The Unix time at which the hours of its budget are used, unless that has come, or nothing counts them."""
        counts = self.clock is not None and self.budget.hours and self.begun and self.reopened is None
        return self.clock + 3600 * self.budget.hours if counts and self.clock is not None and not self.late else None

    @property
    def out_of_hours(self) -> bool:
        """Whether the hours of its budget have ended it, of its time or of GPUs: with more of them it goes on."""
        return isinstance(self.status, Ended) and isinstance(self.status.cause, HoursUsed | GpuHoursUsed)

    @property
    def paused(self) -> bool:
        return isinstance(self.status, Paused)

    @property
    def over(self) -> bool:
        return isinstance(self.status, Ended)

    @property
    def waiting(self) -> Wait | None:
        """What it waits for, beside a pause or without one; not that the first lane waits for one of its own."""
        wait = None if isinstance(self.status, Ended) else self.status.wait
        return None if isinstance(wait, ForTurn) and wait.who == self.id else wait

    @property
    def device_kind(self) -> DeviceKind:
        return DeviceKind(self.device, self.driver, self.clocks)

    @property
    def on_this_kind(self) -> tuple[Iteration, ...]:
        """The iterations on the present kind of device: times of others are not compared with theirs."""
        return tuple(it for it in self.iterations if it.number >= self.since)

    @property
    def place(self) -> DeviceRef:
        """The host and the first device that a run which has begun is bound to."""
        return self.host, self.device_id or "cpu"

    @property
    def places(self) -> tuple[DeviceRef, ...]:
        """The host and the device of each lane, also of those that are away, which had them."""
        return self.place, *self.more

    @property
    def lanes(self) -> dict[int, DeviceRef]:
        """The lanes that have a device now, and these."""
        return {lane: place for lane, place in enumerate(self.places) if lane not in self.away}

    @property
    def each_device(self) -> tuple[DeviceRef, ...]:
        """The devices of its lanes, each once."""
        return tuple(dict.fromkeys(self.places))

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
        """The iteration under way, the oldest where there are several, or None between iterations."""
        return next(iter(self.open), None)

    @property
    def open(self) -> tuple[Iteration, ...]:
        """The iterations under way, at most one in each lane, the oldest first."""
        last = self.iterations[-1:] if self.devices == 1 else self.iterations
        return tuple(it for it in last if it.outcome is None)

    @property
    def counted(self) -> tuple[Iteration, ...]:
        """The iterations that count against the budget."""
        return tuple(it for it in self.iterations if it.counts)

    @property
    def without_gain(self) -> tuple["Iteration", ...]:
        """The iterations that count since one was accepted, or was the first that was right."""
        since = takewhile(lambda it: it.outcome not in ("accepted", "baseline"), reversed(self.iterations))
        return tuple(it for it in since if it.counts)

    @property
    def held(self) -> tuple[Iteration, ...]:
        """The winners that wait for a person because of their flags."""
        return tuple(it for it in self.iterations if it.held)

    @property
    def unsanitized(self) -> tuple[Iteration, ...]:
        """The accepted iterations that have ended, and whose last checks are still to come."""
        return tuple(it for it in self.iterations if it.unsanitized and it.outcome is not None)

    @property
    def baseline(self) -> Iteration | None:
        return next((it for it in self.on_this_kind if it.outcome == "baseline"), None)

    @property
    def first_right(self) -> int | None:
        """The iteration of another agent's candidate that is the baseline, as the task's own files were not right."""
        found = self.baseline
        return None if found is None or found.agent == BASELINE else found.number

    @property
    def best(self) -> Iteration | None:
        """The incumbent's iteration."""
        return None if self.incumbent is None else self.iteration(self.incumbent)

    def iteration(self, number: int) -> Iteration | None:
        if 0 <= number < len(self.iterations) and self.iterations[number].number == number:
            return self.iterations[number]
        return next((it for it in self.iterations if it.number == number), None)
