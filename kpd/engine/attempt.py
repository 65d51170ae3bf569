"""Holds what the steps of one iteration share."""

import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from kpd.agents.agent import Agent
from kpd.engine.control import Control
from kpd.engine.journal import Journal, run_of
from kpd.hosts.host import Host
from kpd.hosts.job import device_claim, job_times
from kpd.measure.bench import Bench
from kpd.measure.judge import QUICK
from kpd.model.agents import BASELINE
from kpd.model.causes import ContestBroken, TooBusy
from kpd.model.codec import encode
from kpd.model.detail import Detail, detail
from kpd.model.faults import CandidateFault
from kpd.model.iteration import Iteration
from kpd.model.run import Run
from kpd.workspace.config import Config
from kpd.workspace.paths import Workspace
from kpd.workspace.run_files import IterationFolder
from kpd.workspace.task import Task

IN_PLACE = "-incumbent-"
"""Part of the ids of jobs that measure the incumbent in a candidate's place."""


class CandidateFailed(Exception):
    """The candidate's own fault, `what`; `feedback` has more that may help its agent to repair it.

    A `final` fault ends the iteration: its agent is not asked to repair it.
    """

    def __init__(self, what: CandidateFault, feedback: str = "", final: bool = False) -> None:
        super().__init__(what)
        self.what = what
        self.feedback = feedback
        self.final = final


class Unconfirmed(Exception):
    """An accepted candidate cannot be measured against the baseline, for which the run does not wait or pause."""

    def __init__(self, why: TooBusy | ContestBroken) -> None:
        super().__init__(why)
        self.why = why


@dataclass(slots=True)
class Attempt:
    """One iteration under way. `task` is the run's own snapshot, `live` the operator's task folder.

    `fault` is the fault that ends the iteration. `others_s` are seconds that were spent on an agent or a person. With
    `in_place`, a word of its own, the incumbent is measured in the candidate's place: no artefact is kept, and an audit
    looks for no gain. `prepare` makes the bench anew, with all that it has built on the host.
    """

    workspace: Workspace
    config: Config
    journal: Journal
    control: Control
    host: Host
    bench: Bench
    agent: Agent
    task: Task
    live: Path
    run_id: str
    number: int
    number_of_attempt: int = 1
    fault: CandidateFailed | None = None
    others_s: float = field(default=0.0)
    in_place: str = ""
    prepare: Callable[[], Awaitable[Bench]] = field(kw_only=True)

    @property
    def run(self) -> Run:
        return run_of(self.journal, self.run_id)

    def turn(self) -> AbstractAsyncContextManager[None]:
        """Return a context manager that waits for the run's turn on its device and holds it."""
        return device_claim.get().turn(self.host.name, self.bench.device.id)

    @property
    def elsewhere_s(self) -> float:
        """The seconds so far that were not kpd's own work: the host's jobs, agents and people."""
        return sum(end - begun for begun, end in job_times.get()) + self.others_s

    @contextmanager
    def elsewhere(self) -> Iterator[None]:
        """Count the time of the block as not kpd's own work."""
        begun = time.perf_counter()
        try:
            yield
        finally:
            self.others_s += time.perf_counter() - begun

    @property
    def folder(self) -> IterationFolder:
        return self.folder_of(self.number)

    def folder_of(self, number: int) -> IterationFolder:
        return IterationFolder(self.workspace.iteration_folder(self.run.task, self.run_id, number))

    @property
    def lane(self) -> int:
        """The run's lane that is at it."""
        return self.control.lane

    @property
    def is_baseline(self) -> bool:
        return self.parent == self.number

    @property
    def quick(self) -> int:
        """How many quick processes its contest may begin with: none where it measures, whatever it decides.

        The baseline's score and noise, and the number of an incumbent against the baseline, are compared with those of
        other contests. A kernel may have changed the clock of quick ones.
        """
        measures = self.is_baseline or self.iteration.confirming or self.iteration.thorough
        return 0 if measures else QUICK

    def job(self, step: str) -> str:
        """Return the id of a step's job on the host: unique to this attempt, and the same after a restart."""
        of = f"{IN_PLACE}{self.in_place}" if self.in_place else ""
        return f"{self.run_id}.{self.number}.{self.number_of_attempt}-{step}{of}"

    def say(self, channel: str) -> Callable[[str], None]:
        return lambda text: self.journal.live(channel, self.run_id, self.number, text)

    def keep(self, name: str, content: str | bytes | object) -> None:
        """Write an artefact to the iteration's folder; anything but text and bytes is written as JSON."""
        if self.in_place:
            return
        data = content if isinstance(content, str | bytes) else encode(content)
        self.folder.write(name, data)

    def candidate(self) -> dict[str, bytes]:
        """Read the files that this iteration proposed, or with `in_place` those of the incumbent."""
        if self.in_place:
            return self.files_of(self.parent)
        return self.folder.read_candidate()

    def files_of(self, number: int) -> dict[str, bytes]:
        """Read the files that an earlier iteration proposed."""
        return self.folder_of(number).read_candidate()

    def detail_of(self, number: int) -> Detail:
        return detail(self.journal.events(self.run_id, number))

    @property
    def iteration(self) -> Iteration:
        found = self.run.iteration(self.number)
        assert found is not None
        return found

    @property
    def is_tasks_own(self) -> bool:
        """Whether it measures the task's own files, which are trusted: a first right candidate is a baseline, too."""
        return self.iteration.agent == BASELINE

    @property
    def parent(self) -> int:
        """The iteration to beat: the incumbent when this one began. The baseline is its own parent."""
        return self.iteration.parent

    @property
    def superseded_by(self) -> int | None:
        """The iteration that has become the incumbent since this one began; None where none has."""
        now = self.run.incumbent
        return None if now == self.parent else now
