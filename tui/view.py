"""Everything the screen shows, as one frozen value; widgets are functions of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Literal

from kpd.model.nouns import Iteration, Run, State, TaskCard
from tui.details import Shown
from tui.feed import Link
from tui.outline import Outline, Place
from tui.output import OutputLine

Tab = Literal["overview", "metrics", "rules", "diff", "memo", "log"]
TABS: tuple[Tab, ...] = ("overview", "metrics", "rules", "diff", "memo", "log")


@dataclass(frozen=True, slots=True)
class Said:
    """The answer to the operator's last act."""

    text: str
    good: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """`at` is the selected place; while `following` it moves on to the newest iteration by itself.

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
    def ref(self) -> str:
        """What commands call the selected iteration: `r3.7`."""
        return f"{self.at.run}.{self.at.iteration}" if self.at.iteration is not None else self.at.run

    @property
    def editable(self) -> tuple[str, ...]:
        """The files of the selected task that candidates may change."""
        return self.task.editable if self.task is not None else ()
