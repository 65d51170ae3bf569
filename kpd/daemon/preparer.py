"""Makes the tasks of projects' runs before their first iterations: a process a phase, which outlives the daemon."""

import logging
import os
import signal
import time
from collections.abc import Callable, Iterable
from contextlib import suppress

from kpd.agents.catalogue import agent_keys
from kpd.daemon.journal import EventJournal, Message
from kpd.daemon.outside import GAVE_UP, MOST_BEGUN, SAID, OutsideWork, done_outside, with_keys
from kpd.daemon.watcher import survey_tasks
from kpd.engine.ending import break_off
from kpd.engine.journal import run_of
from kpd.engine.ledger import spent_before
from kpd.engine.operations.runs import budget_of
from kpd.model import events as e
from kpd.model.causes import PhaseFailed
from kpd.model.preparation import PURPOSES, BeforePhase, PhaseResult, TaskOrder
from kpd.model.preparing import due
from kpd.model.run import Run
from kpd.model.session import KPD
from kpd.model.state import State
from kpd.model.status import RunOutcome
from kpd.text.foreign import plain
from kpd.workspace.config import Config
from kpd.workspace.paths import Workspace
from kpd.workspace.project_runs import ProjectRuns
from kpd.workspace.specs import BudgetSpec
from kpd.workspace.task import TaskError, load_task

log = logging.getLogger(__name__)
BEFORE_FIRST = -1
"""The number of no iteration, for output that comes before the first one."""
STOPPED = PhaseResult(failed="it was stopped")


class Preparer(OutsideWork):
    """Does one phase after the other; `wake` has the engine look for runs that can begin."""

    wakes = (e.RunQueued, e.PhaseEnded, e.RunEnded, e.QueueReleased)

    def __init__(
        self, workspace: Workspace, settings: Callable[[], Config], journal: EventJournal, wake: Callable[[], None]
    ) -> None:
        super().__init__(journal)
        self._workspace = workspace
        self._settings = settings
        self._wake = wake

    def due(self, state: State) -> Iterable[Run]:
        return due(state)

    def busy(self, project: str) -> bool:
        try:
            return ProjectRuns.of(self._workspace, project).holder is not None
        except OSError as err:
            log.warning("whether a phase of %s is under way is not known: %s", project, err)
            return True

    def _heard(self, message: Message) -> None:
        if isinstance(message, e.Event) and isinstance(message.fact, e.RunEnded):
            self._end_process(run_of(self._journal, message.fact.run))
        super()._heard(message)

    def _end_process(self, run: Run) -> None:
        """Have the process of a run that was stopped in a phase end what it has begun on the host, and itself."""
        if run.phases and run.phases[-1].result is None:
            with suppress(OSError):
                if pid := ProjectRuns.of(self._workspace, run.deploy).holder:
                    os.kill(pid, signal.SIGTERM)

    async def work(self, run: Run) -> None:
        """Do the phase that is due, or take in how it ended while no daemon was there."""
        assert run.order is not None and run.next_phase is not None
        rows, phase = ProjectRuns.of(self._workspace, run.deploy), run.next_phase
        begun = run.at_phase
        found = rows.ended(run.id, phase, run.queued) if begun is not None else None
        if found is None and begun is not None and begun.times >= MOST_BEGUN:
            found = PhaseResult(failed=GAVE_UP, infra=True), time.time() - begun.at
        if found is None:
            self._journal.emit(e.PhaseBegun(run.id, phase))
            words = ("project", "phase", run.deploy, run.id, phase)
            output = self._workspace.root / "refs" / f"{run.deploy}.{run.id}.{phase}.output"
            env = with_keys(_keys(run.order, self._settings()) if phase in PURPOSES else ())

            def tell(text: str) -> None:
                self._journal.live(KPD, run.id, BEFORE_FIRST, text)

            ended = await done_outside(self._workspace.root, words, output, env, tell)
            found = rows.ended(run.id, phase, run.queued)
            if found is None and run_of(self._journal, run.id).over:
                found = STOPPED, time.time() - run_of(self._journal, run.id).phases[-1].at
            if found is None and ended.killed:
                return  # it is begun again
            if found is None:
                found = PhaseResult(failed=plain(ended.said, SAID) or "it did not say how it ended"), 0.0
        self._end(run, phase, *found)

    def _end(self, run: Run, phase: BeforePhase, result: PhaseResult, seconds: float) -> None:
        if result.task:
            survey_tasks(self._workspace, self._journal)  # it has just been made, and the watcher has not seen it yet
        of_run, purpose = spent_before(self._workspace.root, run), PURPOSES.get(phase)
        spend = {purpose: of_run[purpose]} if purpose in of_run else {}
        self._journal.emit(e.PhaseEnded(run.id, phase, result, seconds, spend))
        if run_of(self._journal, run.id).over:
            return
        if result.failed:
            outcome: RunOutcome = "infra" if result.infra else "failed"
            break_off(self._journal, run.id, outcome, PhaseFailed(phase, result.failed, result.remedy))
        elif result.task:
            self._limit(run_of(self._journal, run.id))
        self._wake()

    def _limit(self, run: Run) -> None:
        """Give the run the budget that its task says, where the operator has said none."""
        assert run.order is not None
        if run.budget != budget_of(self._settings(), BudgetSpec(), run.order.given):
            return  # somebody has changed it meanwhile
        try:
            own = load_task(self._workspace.tasks / run.task).budget
        except (TaskError, OSError):
            return  # the scheduler ends the run, and says so
        budget = budget_of(self._settings(), own, run.order.given)
        if budget != run.budget:
            self._journal.emit(e.BudgetChanged(run.id, budget, f"task {run.task}"))


def _keys(order: TaskOrder, config: Config) -> tuple[str, ...]:
    """Return the variables with the keys of the run's writer."""
    if order.mailbox:
        return ()
    return agent_keys(order.writer, config) if order.writer else (config.claude.api_key_env,)
