"""Executes one run: prepares the task on its host, then iterates until the plan says that it is over."""

import asyncio
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from kpd.agents.agent import Agent, Exhausted, ReflectingAgent
from kpd.agents.catalogue import make_agent
from kpd.engine import edits, plan
from kpd.engine.attempt import Attempt, Unconfirmed
from kpd.engine.control import Control, Interrupted
from kpd.engine.host_pool import HostPool
from kpd.engine.host_trouble import RunRestart, handle_trouble, note_peaks
from kpd.engine.iteration import iterate
from kpd.engine.journal import Journal, holding, run_of
from kpd.engine.placement import Placement
from kpd.engine.proposing import context_of
from kpd.engine.record import write_report
from kpd.engine.sanitize import Beside, not_run, sanitize, wants_sanitizer
from kpd.engine.tools.serving import serve_session
from kpd.engine.turns import Turns, claim_of
from kpd.engine.waiting import set_waiting
from kpd.hosts.errors import HostError
from kpd.hosts.job import device_claim, job_seconds
from kpd.knowledge import patterns
from kpd.measure.bench import Bench
from kpd.measure.catalogue import prepare
from kpd.measure.compiling import BuildError
from kpd.model import events as e
from kpd.model.agents import AGAIN, EDIT
from kpd.model.causes import NothingLeft, NotMeasurable, PlugInTrouble, RunCause, RunOver, Skipped, Stopped
from kpd.model.notices import NoSanitizer, NotMeasuredAgain, NotWritten, Said, Unlooked
from kpd.model.run import Run
from kpd.model.status import RunOutcome
from kpd.model.waits import ForSanitizer
from kpd.workspace.candidate_tree import read_tree
from kpd.workspace.config import Config
from kpd.workspace.entry_points import PlugInError
from kpd.workspace.paths import Workspace, WorkspaceError
from kpd.workspace.task import Task, TaskError


class RunLoop:
    """A run and what it holds while it is under way: its control, its agents, its bench on the host."""

    def __init__(
        self, workspace: Workspace, settings: Callable[[], Config], journal: Journal, pool: HostPool, place: Placement,
        turns: Turns, run_id: str,
    ) -> None:  # fmt: skip
        """Take the settings at the start: a run keeps them, except [claude], which `settings()` reads anew."""
        self.workspace = workspace
        self.config = settings()
        self._settings = settings
        self.journal = journal
        self.pool = pool
        self.place = place
        self.host = pool.hosts[place.host]
        self.run_id = run_id
        self._claim = claim_of(turns, journal, run_id)
        self._turns = turns
        self.control = Control(journal, run_id)
        self.over = asyncio.Event()
        self._agents: dict[str, Agent] = {}
        self._named = ""
        self._hours: asyncio.TimerHandle | None = None

    @property
    def run(self) -> Run:
        return run_of(self.journal, self.run_id)

    @property
    def live(self) -> Path:
        """The operator's task folder, or the copy of it that the run's comparison keeps."""
        return edits.live_folder(self.workspace, self.run)

    async def execute(self) -> None:
        """Execute the run until it ends, has to be restarted, or is left to the next daemon. Raises JournalError."""
        job_seconds.set([])
        device_claim.set(self._claim)
        self.mind_hours()
        try:
            task, bench = await self._ready()
            if bench.sanitizes != self.run.sanitizes:
                self.journal.emit(e.SanitizerFound(self.run_id, bench.sanitizes))
            if wants_sanitizer(task) and not bench.sanitizes and not self.run.iterations:
                self.journal.emit(e.Noticed("warning", NoSanitizer(self.run_id, self.host.name)))
            await self._iterations(task, bench)
        except Interrupted as interrupted:
            if interrupted.how == "skip":
                self._give_up(interrupted)
            if interrupted.how == "stop":
                self._break_off("stopped", Stopped(interrupted.by))
        except RunRestart:
            return
        except (TaskError, BuildError) as err:
            self._break_off("failed", NotMeasurable(str(err)))
        except PlugInError as err:
            self._break_off("failed", PlugInTrouble(str(err)))
        finally:
            try:
                await self._let_go()
            finally:
                self._forget_hours()
                self.over.set()

    def mind_hours(self) -> None:
        """Set the timer for the moment when the hours of the run's budget are used; they may have changed."""
        self._forget_hours()
        if (at := self.run.deadline) is not None:
            self._hours = asyncio.get_running_loop().call_later(max(at - time.time(), 0.0), self._hours_used)

    def _forget_hours(self) -> None:
        if self._hours is not None:
            self._hours.cancel()

    def _hours_used(self) -> None:
        """Give up what an agent is at; what is the operator's, or a contest that a result needs, is finished."""
        with holding(self.journal):
            self.journal.emit(e.DeadlinePassed(self.run_id))
        current = self.run.current
        agents = current is not None and not self.run.trait(current.agent).operators
        if agents or plan.on_a_tool(self.run) is not None:
            self.control.interrupt("skip", "the budget's hours")
        self.control.wake()

    async def _ready(self) -> tuple[Task, Bench]:
        """Copy the task, build its harness and measure the roofline; trouble pauses the run until `resume`."""
        while True:
            await self.control.checkpoint()
            try:
                task = self._snapshot()
                await self.control.run(self.host.connect())
                return task, await self.control.run(self._prepared(task))
            except (HostError, OSError) as err:
                await handle_trouble(self.journal, self.control, self.run_id, self.host, err)

    async def _prepared(self, task: Task) -> Bench:
        bench = await prepare(self.host, task, self.place.device, self._say)
        note_peaks(self.pool, self.host.name, bench)
        return bench

    def _snapshot(self) -> Task:
        """Copy the task when the run begins; iterations are staged from this copy, whatever happens to the folder.

        Raises TaskError when a protected file of the copy was changed later: it could judge differently.
        """
        copy = edits.snapshot_folder(self.workspace, self.run)
        if not self.run.pinned:
            partial = copy.with_name(f".{copy.name}.partial")
            for leftover in (partial, copy):
                shutil.rmtree(leftover, ignore_errors=True)
            shutil.copytree(self.live, partial, symlinks=True)
            partial.rename(copy)
        task = edits.snapshot_of(self.workspace, self.run)
        protected = edits.hashes(edits.present(copy, task.protected))
        if not self.run.pinned:
            editable = edits.hashes(read_tree(copy, task))
            self._refuse_other_start({**protected, **editable})
            self.journal.emit(e.TaskPinned(self.run_id, protected, editable, task.check.unchecked, task.baseline))
            if (notice := edits.own_baseline(self.journal.state, self.run)) is not None:
                self.journal.emit(e.Noticed("warning", notice))
        elif protected != self.run.pinned:
            raise TaskError(copy, 0, f"{self.run_id}'s own copy of the task was changed", "queue a new run")
        return task

    def _refuse_other_start(self, files: dict[str, str]) -> None:
        """Raise TaskError where a run of a comparison would not start from the same files as the others."""
        place = self.run.compared
        if place is not None and files != self.journal.state.comparisons[place.of].files:
            raise TaskError(self.live, 0, f"the files that {place.of} keeps were changed", "begin a new comparison")

    def _say(self, text: str) -> None:
        self.journal.live("build", self.run_id, 0, text)

    async def _iterations(self, task: Task, bench: Bench) -> None:
        """Iterate until the plan says that the run is over; compute-sanitizer looks at winners meanwhile."""
        beside = Beside(lambda number: sanitize(self._attempt(number, AGAIN, task, bench), self._turns), self._unlooked)
        try:
            while not self.run.over:
                try:
                    await self.control.checkpoint()
                except Interrupted as interrupted:
                    if interrupted.how != "skip":
                        raise
                    self._give_up(interrupted)
                    continue
                beside.begin(self.run)
                bench = await self._next(task, bench, beside)
        finally:
            await beside.stop()

    async def _next(self, task: Task, bench: Bench, beside: Beside) -> Bench:
        """Do what comes next, and return the bench, which may have had to be prepared again."""
        step = plan.next_action(self.run, task.bench.direction)
        match step:
            case plan.End():
                self.journal.emit(e.RunEnded(self.run_id, step.outcome, step.cause))
                self._write_report()
            case plan.Wait():
                await self.control.wait_until(
                    lambda: not isinstance(plan.next_action(self.run, task.bench.direction), plan.Wait)
                )
            case plan.Sanitize():
                await self._sanitized(step.number, beside)
            case plan.Reflect():
                await self._reflect(self._attempt(step.number, step.agent, task, bench))
            case plan.Iterate():
                await self._follow_settings()
                return await self._iteration(step, task, bench)
        return bench

    async def _sanitized(self, number: int, beside: Beside) -> None:
        """Wait until compute-sanitizer has looked at the iteration, or a person skips that: it stays provisional then.

        Raises Interrupted; after trouble RunRestart.
        """
        set_waiting(self.journal, self.run, ForSanitizer(self.run_id, number))
        try:
            try:
                await self.control.run(beside.ended(number))
            finally:
                set_waiting(self.journal, self.run, None)
        except Interrupted as interrupted:
            if interrupted.how != "skip":
                raise
            await beside.leave(number)
            if number in {it.number for it in self.run.unsanitized}:
                self.journal.emit(e.Sanitized(self.run_id, number, not_run(f"skipped by {interrupted.by}")))
        except (HostError, OSError) as err:
            await handle_trouble(self.journal, self.control, self.run_id, self.host, err)
            raise RunRestart from err

    def _unlooked(self, number: int, err: HostError | OSError) -> None:
        self.journal.emit(e.Noticed("warning", Unlooked(self.run_id, number, str(err))))

    async def _follow_settings(self) -> None:
        """Use changes of [claude], and of the run's agents and model, from the next iteration on.

        This also happens when the run resumes: a model that cannot be asked can be replaced that way.
        """
        run, now = self.run, self._settings().claude
        now = replace(now, model=run.model or now.model)
        if (now, run.agent) != (self.config.claude, self._named):
            self.config, self._named = replace(self.config, claude=now), run.agent
            await self._let_go()

    async def _let_go(self) -> None:
        """Close all agents; those that are needed again are made anew."""
        agents, self._agents = self._agents, {}
        for held in agents.values():
            await held.close()

    async def _iteration(self, step: plan.Iterate, task: Task, bench: Bench) -> Bench:
        """Execute the iteration, and return the bench, which may have had to be prepared again. Raises Interrupted."""
        at = self._attempt(step.number, step.agent, task, bench)
        if not step.resumed:
            self._begin(step, at.agent)
        try:
            await self.control.run(iterate(at))
            await self._reflect(at)
        except Exhausted as err:
            for_good = not plan.explores(self.run, step.agent)
            self.journal.emit(e.IterationEnded(self.run_id, step.number, "skipped", NothingLeft(err.why), for_good))
        except Unconfirmed as err:
            self.journal.emit(e.IterationEnded(self.run_id, step.number, "infra", err.why))
        except Interrupted as interrupted:
            if interrupted.how != "skip":
                raise
            self._give_up(interrupted)
        return at.bench

    async def _reflect(self, at: Attempt) -> None:
        """Let the agent improve its tools, if the run wants that and the agent can. Raises Interrupted.

        Only a daemon that ends leaves this open, for the next one.
        """
        why = ""
        try:
            if self.run.evolve and isinstance(at.agent, ReflectingAgent):
                context = replace(context_of(at, None), serve=partial(serve_session, at))
                await self.control.run(at.agent.reflect(context))
        except (OSError, WorkspaceError) as err:
            why = f"no tool was built after {self.run_id}.{at.number}: {err}"
            self.journal.emit(e.Noticed("warning", Said(why)))
        except Interrupted as interrupted:
            if interrupted.how == "shutdown":
                raise
            why = f"{interrupted.by} wanted to {interrupted.how}"
            if interrupted.how == "stop":
                raise
        if (left := plan.on_a_tool(self.run)) is not None and left.session is not None:
            self.journal.emit(e.SmithEnded(self.run_id, left.number, left.session.id, "broken_off", why=why))

    def _attempt(self, number: int, agent: str, task: Task, bench: Bench) -> Attempt:
        if agent not in self._agents:
            self._agents[agent] = make_agent(agent, self.config)
        return Attempt(
            self.workspace, self.config, self.journal, self.control, self.host, bench, self._agents[agent], task,
            self.live, self.run_id, number, prepare=partial(self._prepared, task),
        )  # fmt: skip

    def _begin(self, step: plan.Iterate, held: Agent) -> None:
        run = self.run
        parent = step.number if run.incumbent is None else run.incumbent
        if step.confirming and run.baseline is not None:
            parent = run.baseline.number
        edit = edits.edit_name(run.pending_edit) if step.agent == EDIT else ""
        begun = e.IterationStarted(
            self.run_id, step.number, step.agent, parent, edit, step.of, step.thorough, step.confirming
        )
        self.journal.emit(begun)
        waiting = tuple(line.note for line in run.steering if line.consumed_by is None)
        reads = held.reads_steering and not plan.explores(run, step.agent)
        if waiting and reads:
            self.journal.emit(e.SteeringConsumed(self.run_id, waiting, step.number))

    def _give_up(self, interrupted: Interrupted) -> None:
        """End the iteration that was to be skipped, unless it has just ended by itself."""
        if (current := self.run.current) is not None:
            self.journal.emit(e.IterationEnded(self.run_id, current.number, "skipped", Skipped(interrupted.by)))

    def _break_off(self, outcome: RunOutcome, cause: RunCause) -> None:
        break_off(self.journal, self.run_id, outcome, cause)
        self._write_report()

    def _write_report(self) -> None:
        try:
            write_report(self.workspace, self.run)
            patterns.regenerate(self.workspace)
        except OSError as err:  # the run has ended anyway; its events hold everything
            self.journal.emit(e.Noticed("warning", NotWritten(self.run_id, str(err))))


def break_off(journal: Journal, run_id: str, outcome: RunOutcome, cause: RunCause) -> None:
    """End the run before its plan does, and first the iteration that may be under way.

    A run that had ended and was reopened for one more contest keeps the end that it had. A notice says why there was no
    contest, unless a person did not want it any more.
    """
    run = run_of(journal, run_id)
    if run.current is not None:
        journal.emit(e.IterationEnded(run_id, run.current.number, "interrupted", RunOver(cause)))
    if run.reopened is not None:
        if not isinstance(cause, Stopped):
            journal.emit(e.Noticed("warning", NotMeasuredAgain(run_id, cause)))
        outcome, cause = run.reopened.outcome, run.reopened.cause
    journal.emit(e.RunEnded(run_id, outcome, cause))
