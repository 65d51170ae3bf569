"""One run: make the task ready on its host, then iterate until the plan says it is over."""

import asyncio
import shutil
from pathlib import Path

from kpd.agents.agent import Agent, Exhausted
from kpd.agents.catalogue import AGENTS
from kpd.engine import plan
from kpd.engine.attempt import Attempt
from kpd.engine.control import Control, Interrupted
from kpd.engine.iteration import iterate
from kpd.engine.journal import Journal, run_of
from kpd.hosts.errors import HostError
from kpd.hosts.host import Host
from kpd.measure.bench import Bench
from kpd.measure.build import BuildError
from kpd.measure.catalogue import BENCHES
from kpd.model import events as e
from kpd.model.nouns import Outcome, Run, RunOutcome
from kpd.workspace.config import Config
from kpd.workspace.paths import Workspace
from kpd.workspace.task import Task, TaskError, load_task


class Campaign:
    """A run with what it holds while it goes on: its control, its agents, its bench on the host."""

    def __init__(self, workspace: Workspace, config: Config, journal: Journal, host: Host, run_id: str) -> None:
        self.workspace = workspace
        self.config = config
        self.journal = journal
        self.host = host
        self.run_id = run_id
        self.control = Control(journal, run_id)
        self.over = asyncio.Event()
        self._agents: dict[str, Agent] = {}

    @property
    def run(self) -> Run:
        return run_of(self.journal, self.run_id)

    @property
    def live(self) -> Path:
        """The operator's task folder."""
        return self.workspace.tasks / self.run.task

    async def conduct(self) -> None:
        """Until the run has ended, or a shutdown leaves it to the next daemon. Raises JournalError."""
        try:
            task, bench = await self._ready()
            await self._iterations(task, bench)
        except Interrupted as interrupted:
            if interrupted.how == "stop":
                self._end("stopped", f"stopped by {interrupted.by}")
        except (TaskError, BuildError) as err:
            self._started()
            self._end("failed", f"the task cannot be measured: {err}")
        finally:
            for agent in self._agents.values():
                await agent.close()
            self.over.set()

    async def _ready(self) -> tuple[Task, Bench]:
        """Copy the task, build its harness, measure the roofline; trouble pauses the run until `resume`."""
        while True:
            await self.control.wait_until(lambda: not self.journal.state.held and self.run.status != "paused")
            try:
                task = self._snapshot()
                bench = await self.control.run(BENCHES[task.language](self.host, task, self._say))
            except (HostError, OSError) as err:
                self._started()
                self.journal.emit(e.RunPaused(self.run_id, f"infrastructure: {err}", by="kpd"))
                continue
            self._started()
            return task, bench

    def _snapshot(self) -> Task:
        """The task as the run began: iterations are staged from this copy, whatever happens to the task folder."""
        copy = self.workspace.run_folder(self.run.task, self.run_id) / "task" / self.run.task
        if not copy.exists():
            partial = copy.with_name(f".{copy.name}.partial")
            shutil.rmtree(partial, ignore_errors=True)
            shutil.copytree(self.live, partial, symlinks=True)
            partial.rename(copy)
        return load_task(copy)

    def _say(self, text: str) -> None:
        self.journal.live("build", self.run_id, 0, text)

    def _started(self) -> None:
        if self.run.status == "queued":
            self.journal.emit(e.RunStarted(self.run_id, self.journal.state.hosts[self.host.name].device))

    async def _iterations(self, task: Task, bench: Bench) -> None:
        while True:
            try:
                await self.control.boundary()
            except Interrupted as interrupted:
                if interrupted.how == "skip":
                    continue  # the iteration it was meant for has just ended by itself
                raise
            step = plan.next_of(self.run)
            if isinstance(step, plan.End):
                self._end(step.outcome, step.reason)
                return
            if isinstance(step, plan.Wait):
                await self.control.wait_until(lambda: not isinstance(plan.next_of(self.run), plan.Wait))
                continue
            await self._iteration(step, task, bench)

    async def _iteration(self, step: plan.Iterate, task: Task, bench: Bench) -> None:
        if not step.resumed:
            self._begin(step)
        agent = self._agents.setdefault(step.agent, AGENTS[step.agent]())
        at = Attempt(
            self.workspace, self.config.run, self.journal, self.control, self.host, bench, agent, task, self.live,
            self.run_id, step.number,
        )  # fmt: skip
        try:
            await self.control.run(iterate(at))
        except Exhausted as err:
            self.journal.emit(e.IterationEnded(self.run_id, step.number, "skipped", str(err)))
            self._end(plan.result(self.run), str(err))
        except Interrupted as interrupted:
            if interrupted.how != "shutdown":
                outcome: Outcome = "skipped" if interrupted.how == "skip" else "interrupted"
                self.journal.emit(e.IterationEnded(self.run_id, step.number, outcome, str(interrupted)))
            if interrupted.how != "skip":
                raise

    def _begin(self, step: plan.Iterate) -> None:
        run = self.run
        parent = step.number if run.incumbent is None else run.incumbent
        self.journal.emit(e.IterationStarted(self.run_id, step.number, step.agent, parent))
        waiting = tuple(line.note for line in run.steering if line.consumed_by is None)
        if waiting:
            self.journal.emit(e.SteeringConsumed(self.run_id, waiting, step.number))

    def _end(self, outcome: RunOutcome, reason: str) -> None:
        self.journal.emit(e.RunEnded(self.run_id, outcome, reason))
