"""Defines the view: everything that the screen shows, as one frozen value. Widgets are functions of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Literal

from kpd.model.hosts import HostCard, HostStatus
from kpd.model.iteration import Iteration
from kpd.model.run import Run
from kpd.model.state import State, TaskCard
from tui.model.answers import LoadedDetails
from tui.model.feed import LinkState
from tui.model.outline import Order, Outline, TreePosition
from tui.model.output import OutputLine

Tab = Literal["overview", "metrics", "rules", "diff", "memo", "log", "hosts"]
TABS: tuple[Tab, ...] = ("overview", "metrics", "rules", "diff", "memo", "log", "hosts")
Against = Literal["parent", "baseline", "mark"]


@dataclass(frozen=True, slots=True)
class StatusMessage:
    """The answer to the operator's last action, a note that it is `under_way`, or what one of the `others` has done."""

    text: str
    good: bool = True
    under_way: bool = False
    others: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """Everything that the screen shows. `at` is the selected place; while `following` it moves to the newest iteration,
    of the run `followed` until that has ended.

    `host` is the name of the chosen host. `elsewhere` is the machine that the workspace is on, if it is not this one.
    `keys` holds the keys that the operator has set for actions, by the action's id, `filters` the saved filters by
    name. `mark` is the iteration that the operator has marked, `against` what the diff and the metrics compare with;
    `split` shows the diff side by side.
    `find` is the search in the log; `filter` and `order` say which iterations the tree shows, and in which order. Ages
    are counted to the Unix time `now`, or to the last event where that is later. `looks` are the newest statuses of
    hosts, by name, which are polled while the operator watches them. Warnings up to the Unix time `dismissed` are not
    shown. `sent` is the command that does what the operator last did.
    """

    state: State = field(default_factory=State)
    link: LinkState = field(default_factory=LinkState)
    workspace: str = ""
    elsewhere: str = ""
    read_only: bool = False
    outline: Outline = field(default_factory=Outline)
    at: TreePosition = field(default_factory=TreePosition)
    following: bool = True
    followed: str = ""
    tab: Tab = "overview"
    host: str = ""
    shown: LoadedDetails = field(default_factory=LoadedDetails)
    output: tuple[OutputLine, ...] = ()
    said: StatusMessage | None = None
    keys: Mapping[str, str] = field(default_factory=dict)
    filters: Mapping[str, str] = field(default_factory=dict)
    zone: tzinfo | None = None
    mark: TreePosition | None = None
    against: Against = "parent"
    split: bool = False
    find: str = ""
    filter: str = ""
    order: Order = "newest"
    now: float = 0.0
    looks: Mapping[str, HostStatus] = field(default_factory=dict)
    dismissed: float = 0.0
    sent: str = ""

    @property
    def moment(self) -> float:
        """The Unix time against which ages and elapsed times are shown; in a recording the time that it has reached."""
        return self.state.at if self.state.playback is not None else max(self.now, self.state.at)

    @property
    def task(self) -> TaskCard | None:
        return self.state.tasks.get(self.at.task)

    @property
    def run(self) -> Run | None:
        return self.state.runs.get(self.at.run)

    @property
    def iteration(self) -> Iteration | None:
        """The selected iteration, or None when a run or a task is selected."""
        if self.run is None or self.at.iteration is None:
            return None
        return self.run.iteration(self.at.iteration)

    @property
    def host_card(self) -> HostCard | None:
        return self.state.hosts.get(self.host)

    @property
    def begun(self) -> tuple[Run, ...]:
        """The runs that have begun: the selected one first, then the others, the newest first."""
        newest_first = self.state.begun[::-1]
        return tuple(sorted(newest_first, key=lambda run: run.id != self.at.run))

    @property
    def live(self) -> Run | None:
        """The run that the header and the banner show: the selected one if it has begun, else the newest that has."""
        return next(iter(self.begun), None)

    @property
    def out_of_touch(self) -> bool:
        """Whether there is no link to the daemon, so that nobody knows what goes on."""
        return self.link.state == "down"

    @property
    def ref(self) -> str:
        """The name that commands have for the selected iteration: `r3.7`."""
        return self.at.ref

    @property
    def editable(self) -> tuple[str, ...]:
        """The files of the selected task that candidates may change."""
        return self.task.editable if self.task is not None else ()
