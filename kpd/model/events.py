"""Defines every fact that kpd records. An `Event` is a fact with its place in the log.

A step of an iteration is journalled twice: `StepStarted` before it, its own fact (`Proposed`, `Built`, …) after it.
What steps find is in `steps`, what operators do in `acts`, what coding agents do in `sessions`, with kpd's tools in
`trials` and with their own in `tools`, comparisons of these in `comparisons`, what compute-sanitizer finds in
`sanitizing`, what the watchdog reports in `watchdog`, what becomes of winners in production in `deploying`; all of them
can be imported from here, too.
"""

from dataclasses import dataclass, field
from typing import Literal

from kpd.model import acts
from kpd.model.acts import (
    Adopted as Adopted,
    AgainAsked as AgainAsked,
    AgentChanged as AgentChanged,
    Approved as Approved,
    BudgetChanged as BudgetChanged,
    Declined as Declined,
    MemoGiven as MemoGiven,
    QueueOrdered as QueueOrdered,
    ReviewAsked as ReviewAsked,
    ReviewSet as ReviewSet,
    RolledBack as RolledBack,
    RuleSet as RuleSet,
    Steered as Steered,
    SteeringConsumed as SteeringConsumed,
)
from kpd.model.agents import AgentTraits
from kpd.model.budget import Budget
from kpd.model.causes import IterationCause, RunCause
from kpd.model.comparisons import ComparisonQueued as ComparisonQueued, ComparisonStopped as ComparisonStopped
from kpd.model.deploying import (
    DeployBegun as DeployBegun,
    DeploymentSeen as DeploymentSeen,
    DeployNotBegun as DeployNotBegun,
)
from kpd.model.fact import Fact as Fact, IterationFact as IterationFact, RunFact as RunFact, StepFact as StepFact
from kpd.model.faults import CandidateFault
from kpd.model.hosts import Confinement, DeviceRef, HostCard
from kpd.model.iteration import Confirming, Override
from kpd.model.kinds import Told
from kpd.model.notices import Level, Subject
from kpd.model.playback import PlaybackChanged as PlaybackChanged
from kpd.model.run import OwnFiles, TaskState
from kpd.model.sanitizing import Sanitized as Sanitized, SanitizerFound as SanitizerFound
from kpd.model.sessions import (
    HostRefused as HostRefused,
    PermissionAnswered as PermissionAnswered,
    PermissionAsked as PermissionAsked,
    SessionKnown as SessionKnown,
    SessionOpened as SessionOpened,
    SessionPrompted as SessionPrompted,
    SessionTurned as SessionTurned,
    TurnCut as TurnCut,
)
from kpd.model.side import ComparedRun
from kpd.model.spending import Purpose, Usage
from kpd.model.state import TaskCard
from kpd.model.status import DeviceUse, Outcome, RunOutcome, StepName
from kpd.model.steps import (
    STEP_OF as STEP_OF,
    Built as Built,
    Checked as Checked,
    Explained as Explained,
    Judged as Judged,
    Profiled as Profiled,
    Proposed as Proposed,
    Reviewed as Reviewed,
    Screened as Screened,
    Staged as Staged,
    Timed as Timed,
)
from kpd.model.tools import (
    SkillsRead as SkillsRead,
    SmithEnded as SmithEnded,
    SmithPrompted as SmithPrompted,
    SmithTurned as SmithTurned,
    ToolBuilt as ToolBuilt,
    ToolChecked as ToolChecked,
    ToolQuarantined as ToolQuarantined,
    ToolRestored as ToolRestored,
    ToolRetired as ToolRetired,
    ToolsGiven as ToolsGiven,
)
from kpd.model.trials import ToolCalled as ToolCalled, TrialStarted as TrialStarted, Tried as Tried
from kpd.model.waits import EditedDuring, Hold, HostTrouble, Pause, Wait
from kpd.model.watchdog import DeviceIdle as DeviceIdle, StepStalled as StepStalled

# ── the daemon and the workspace ──────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class DaemonStarted(Fact):
    version: str
    pid: int
    workspace: str


@dataclass(frozen=True, slots=True)
class DaemonStopped(Fact):
    """`rested`: no step was cut short, so that the next daemon goes on by itself."""

    rested: bool = False


@dataclass(frozen=True, slots=True)
class Noticed(Fact):
    level: Level
    about: Subject


@dataclass(frozen=True, slots=True)
class TaskLoaded(Fact):
    """The result of reading a task folder; where it was refused, `card.error` says why."""

    card: TaskCard


@dataclass(frozen=True, slots=True)
class TaskRemoved(Fact):
    task: str


@dataclass(frozen=True, slots=True)
class HostProbed(Fact):
    card: HostCard


@dataclass(frozen=True, slots=True)
class HostRemoved(Fact):
    """The host's removal from config.toml."""

    host: str


@dataclass(frozen=True, slots=True)
class QueueHeld(Fact):
    """A stop of the whole queue: no run starts or goes on until a person says `resume`."""

    hold: Hold


@dataclass(frozen=True, slots=True)
class QueueReleased(Fact):
    by: str


# ── runs ──────────────────────────────────────────────────────────────────────────────────────────────────────────


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
class DevicesTaken(RunFact):
    """The further devices, by id, on which the run works beside its first one as it begins: each is a lane.

    `hosts` are theirs; without them all are on the first one's.
    """

    more: tuple[str, ...]
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LanesChanged(RunFact):
    """The further devices of a run that is under way: an allocation has brought some, or has ended.

    The lanes in `away` have lost theirs. The first lane may be among them.
    """

    more: tuple[DeviceRef, ...]
    away: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class RunMoved(RunFact):
    """The first lane goes on with another device of the same name and driver, in another allocation.

    An empty `host` is the one that it was on.
    """

    device: str
    device_id: str
    host: str = ""


@dataclass(frozen=True, slots=True)
class RunRebased(RunFact):
    """The run goes on with a device of another kind, in another allocation, and begins a new baseline there.

    What it has found so far was measured on the former kind. Its incumbent is measured against the new baseline, and so
    are the candidates that the change has cut off.
    """

    device: str
    device_id: str
    host: str
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


@dataclass(frozen=True, slots=True)
class OperatorEdited(RunFact):
    """An operator's edit of editable files; `files` is the folder now (path → sha256), measured as the next iteration.

    `by` is empty where they were saved in the folder itself: that could be anybody.
    """

    files: dict[str, str]
    conflict: EditedDuring | Told | None = None
    by: str = ""


@dataclass(frozen=True, slots=True)
class TaskPinned(RunFact):
    """The run's own copy of the task: its protected and its editable files (path → sha256).

    `unchecked`: nothing compares the results of its candidates. `own_files` is what the task says of its own
    editable files.
    """

    protected: dict[str, str]
    editable: dict[str, str]
    unchecked: bool = False
    own_files: OwnFiles = "right"


@dataclass(frozen=True, slots=True)
class FolderKnown(RunFact):
    """What the task folder's editable files (path → sha256) are now, with no edit among them that waits.

    kpd wrote them, or a person took an edit back.
    """

    files: dict[str, str]


@dataclass(frozen=True, slots=True)
class BaselineStale(RunFact):
    """The protected files that changed on disk: this run goes on with the files it started from."""

    files: tuple[str, ...]


# ── iterations ────────────────────────────────────────────────────────────────────────────────────────────────────


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
class Asked(IterationFact):
    """A call to a model that is about to be made; the fields are those of `OpenCall`. Its `Billed` ends it."""

    call: int
    purpose: Purpose
    model: str
    most_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Billed(IterationFact):
    """The end of a call to a model: the tokens used, and the price in US dollars where that is known.

    A `cut` call broke off in the middle: its output is what had come by then, and the service may bill more for it. A
    call whose end no daemon saw is `unseen`: it counts with the most that it could have cost, and no tokens.
    """

    purpose: Purpose
    model: str
    usage: Usage
    usd: float | None = None
    cut: bool = False
    call: int = 0
    unseen: bool = False

    @property
    def refused(self) -> bool:
        """Whether nothing was answered, so that nothing is to be paid."""
        return not self.usage.total and not self.cut


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
class Unusable(IterationFact):
    """An answer of an agent that cannot be used; `message` says why.

    The agent is told, and asked again, once for each question.
    """

    message: str


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


@dataclass(frozen=True, slots=True)
class Event:
    """A fact in the log: `seq` counts from 1 without gaps, `at` is Unix time in seconds."""

    seq: int
    at: float
    fact: Fact


ABSTRACT = (Fact, RunFact, IterationFact, StepFact)
FACTS: dict[str, type[Fact]] = {
    cls.kind(): cls
    for cls in [*globals().values(), *vars(acts).values()]
    if isinstance(cls, type) and issubclass(cls, Fact) and cls not in ABSTRACT
}
