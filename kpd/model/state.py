"""Defines the state: tasks, runs, hosts and notices, as a frozen value.

Everything here crosses the socket and the event log, so fields hold only JSON's own types, tuples and other nouns.
"""

from dataclasses import dataclass, field

from kpd.model.comparison import ToolComparison
from kpd.model.deployments import DeploymentCard
from kpd.model.hosts import ANY, HostCard, Need
from kpd.model.notices import Notice
from kpd.model.playback import Playback
from kpd.model.run import Run
from kpd.model.scores import Direction
from kpd.model.spending import NOTHING, Spend, day_of
from kpd.model.status import Queued
from kpd.model.toolbox import ToolVersion
from kpd.model.waits import Hold


@dataclass(frozen=True, slots=True)
class TaskCard:
    """A task as the daemon last read it; `error` is set when its folder is refused.

    `unchecked`: nothing compares its results, so a speed-up says nothing about them. In the `areas`, folders and globs,
    candidates may also add files and remove them.
    """

    name: str
    summary: str = ""
    language: str = ""
    editable: tuple[str, ...] = ()
    score: str = "us"
    direction: Direction = "lower"
    tunable: int = 0
    need: Need = ANY
    error: str = ""
    unchecked: bool = False
    areas: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Overhead:
    """How long finished steps took, and how much of that was kpd's own work, not that of hosts, agents or people."""

    steps: int = 0
    seconds: float = 0.0
    own_s: float = 0.0

    @property
    def pct(self) -> float:
        return 100 * self.own_s / self.seconds if self.seconds else 0.0


@dataclass(frozen=True, slots=True)
class State:
    """The fold of every event up to `seq`: all that a client sees.

    `days` is what was spent on each day (2026-11-21, UTC). `playback` is set where a recorded run is being played, so
    that none of it happens now. `tools` are those that agents have built, by `name@version`.
    `comparisons` are those of built tools, by id. `deployments` are those of projects, oldest first, by
    `project#number`. `overheads` are by host and by device.
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
    tools: dict[str, ToolVersion] = field(default_factory=dict)
    comparisons: dict[str, ToolComparison] = field(default_factory=dict)
    deployments: dict[str, DeploymentCard] = field(default_factory=dict)
    overheads: dict[str, dict[str, Overhead]] = field(default_factory=dict)

    def spent_on(self, at: float) -> Spend:
        """Return what was spent on the day of the Unix time `at`."""
        return self.days.get(day_of(at), NOTHING)

    def direction(self, run: Run) -> Direction:
        """Return whether lower or higher scores of the run are better; "lower" where its task is gone."""
        card = self.tasks.get(run.task)
        return "lower" if card is None else card.direction

    def deployments_of(self, run: Run) -> tuple[DeploymentCard, ...]:
        """Return the deployments of what the run has found, oldest first; ids of runs start again with a new log."""
        cards = self.deployments.values()
        return tuple(one for one in cards if one.deployment.run == run.id and one.deployment.at >= run.queued)

    @property
    def queue(self) -> tuple[Run, ...]:
        """Runs that wait for their turn, in order."""
        waiting = (run for run in self.runs.values() if isinstance(run.status, Queued))
        return tuple(sorted(waiting, key=lambda run: run.turn))

    @property
    def begun(self) -> tuple[Run, ...]:
        """The runs that are bound to a device, running or paused, oldest first."""
        return tuple(run for run in self.runs.values() if run.begun)

    def ahead_of(self, run: Run) -> Run | None:
        """Return the run that a queued one waits for, as both work on one task folder; None where there is none."""
        if run.apart:
            return None
        return next((other for other in self.begun if other.task == run.task and not other.apart), None)

    @property
    def active(self) -> Run | None:
        """The newest run that is bound to a device, running or paused."""
        return next((run for run in reversed(self.runs.values()) if run.begun), None)
