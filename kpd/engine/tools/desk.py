"""Defines what a tool works on: a run, and for an agent in a session also its tree and its budget of trials."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from kpd.engine.attempt import Attempt
from kpd.model.detail import Detail, detail
from kpd.model.events import Event
from kpd.model.run import Run
from kpd.model.state import State
from kpd.model.trials import TrialBudget
from kpd.operations.operation import Refused
from kpd.workspace.paths import Workspace
from kpd.workspace.run_files import IterationFolder


@dataclass(frozen=True, slots=True)
class Workplace:
    """The session of an agent: its attempt, the folder in which it works, and what its trials may use.

    `measuring` lets one trial run at a time.
    """

    attempt: Attempt
    tree: Path
    budget: TrialBudget
    measuring: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(frozen=True, slots=True)
class Desk:
    """A run with the rest of the workspace, as a tool sees it. `session` is None for a client outside of any session.

    `events` reads the events of a run's iteration.
    """

    workspace: Workspace
    state: State
    run: Run
    events: Callable[[str, int], Iterable[Event]]
    session: Workplace | None = None

    def detail(self, number: int) -> Detail:
        """Fold the events of one of the run's iterations into its detail."""
        return detail(self.events(self.run.id, number))

    def folder(self, number: int) -> IterationFolder:
        return IterationFolder(self.workspace.iteration_folder(self.run.task, self.run.id, number))

    @property
    def incumbent(self) -> int:
        """The iteration to beat. Raises Refused while there is none."""
        if self.run.incumbent is None:
            raise Refused(f"{self.run.id} has no incumbent yet", "ask again when its baseline is measured")
        return self.run.incumbent
