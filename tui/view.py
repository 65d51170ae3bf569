"""Everything the screen shows, as one frozen value; widgets are functions of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Literal

from kpd.model.nouns import Iteration, Run, State, TaskCard
from kpd.model.places import HostCard
from tui.details import Shown
from tui.feed import Link
from tui.outline import Outline, Place
from tui.output import OutputLine

Tab = Literal["overview", "metrics", "rules", "diff", "memo", "log", "hosts"]
TABS: tuple[Tab, ...] = ("overview", "metrics", "rules", "diff", "memo", "log", "hosts")


@dataclass(frozen=True, slots=True)
class Said:
    """The answer to the operator's last act, or that it is `under_way`."""

    text: str
    good: bool = True
    under_way: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """`at` is the selected place; while `following` it moves on to the newest iteration by itself. `host` is the name
    of the chosen host.

    `keys` holds the keys that the operator has set for actions, by the action's id.
    """

    state: State = field(default_factory=State)
    link: Link = field(default_factory=Link)
    workspace: str = ""
    read_only: bool = False
    outline: Outline = field(default_factory=Outline)
    at: Place = field(default_factory=Place)
    following: bool = True
    tab: Tab = "overview"
    host: str = ""
    shown: Shown = field(default_factory=Shown)
    output: tuple[OutputLine, ...] = ()
    said: Said | None = None
    keys: Mapping[str, str] = field(default_factory=dict)
    zone: tzinfo | None = None

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
        """The runs that hold a device: the selected one before the others, and those from the newest on."""
        newest_first = self.state.begun[::-1]
        return tuple(sorted(newest_first, key=lambda run: run.id != self.at.run))

    @property
    def live(self) -> Run | None:
        """The run that the bars speak of: the selected one if it holds a device, else the newest that does."""
        return next(iter(self.begun), None)

    @property
    def ref(self) -> str:
        """What commands call the selected iteration: `r3.7`."""
        return f"{self.at.run}.{self.at.iteration}" if self.at.iteration is not None else self.at.run

    @property
    def editable(self) -> tuple[str, ...]:
        """The files of the selected task that candidates may change."""
        return self.task.editable if self.task is not None else ()
