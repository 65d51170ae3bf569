"""Iterates on one device of a run: prepares the bench there, then does what the plan says until the run is over."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from kpd.agents.agent import Agent, Exhausted, ReflectingAgent
from kpd.agents.catalogue import make_agent
from kpd.engine import edits, plan, rotation
from kpd.engine.attempt import Attempt, Unconfirmed
from kpd.engine.control import Control, Interrupted
from kpd.engine.ending import report_end
from kpd.engine.host_pool import HostPool
from kpd.engine.host_trouble import RunRestart, handle_trouble, note_peaks
from kpd.engine.iteration import iterate
from kpd.engine.journal import Journal, run_of
from kpd.engine.on_demand import is_taken_away
from kpd.engine.placement import Placement
from kpd.engine.proposing import context_of
from kpd.engine.sanitize import Beside, not_run, sanitize, wants_sanitizer
from kpd.engine.snapshot import pinned_task
from kpd.engine.tools.serving import serve_session
from kpd.engine.turns import Turns, claim_of
from kpd.engine.waiting import set_waiting
from kpd.hosts.errors import HostError
from kpd.hosts.job import device_claim, job_times, prepared_on
from kpd.measure.bench import Bench
from kpd.measure.catalogue import prepare
from kpd.model import events as e
from kpd.model.agents import AGAIN, EDIT
from kpd.model.causes import NothingLeft, Skipped
from kpd.model.lanes import current_in, first_lane
from kpd.model.notices import NoSanitizer, Said, Unlooked
from kpd.model.run import Run
from kpd.model.sanitizer import Tool
from kpd.model.waits import ForSanitizer
from kpd.workspace.config import Config
from kpd.workspace.paths import Workspace, WorkspaceError
from kpd.workspace.task import Task
from kpd.workspace.transports import is_on_demand


class Lane:
    """One device of a run, with what it holds while it is under way: its control, its agents, its bench on the host.

    Most runs have one lane. The first one that is there also does what concerns the whole run.
    """

    def __init__(
        self, workspace: Workspace, settings: Callable[[], Config], journal: Journal, pool: HostPool, place: Placement,
        turns: Turns, run_id: str, number: int = 0,
    ) -> None:  # fmt: skip
        """Take the settings at the start: a run keeps them, except [claude], which `settings()` reads anew."""
        self.workspace = workspace
        self.config = settings()
        self._settings = settings
        self.journal = journal
        self.pool = pool
        self.place = place
        self.host = pool.hosts[place.host]
        self._machine = self.host.machine  # of which the place is
        self.run_id = run_id
        self.number = number
        self._claim = claim_of(turns, journal, run_id, number)
        self._turns = turns
        self.control = Control(journal, run_id, number)
        self._agents: dict[str, Agent] = {}
        self._named = ""

    @property
    def run(self) -> Run:
        return run_of(self.journal, self.run_id)

    @property
    def is_stranded(self) -> bool:
        """Whether its host was taken away, and what it is at needs that; an agent that thinks goes on."""
        it = current_in(self.run, self.number)
        now = it.under_way if it is not None else None
        return is_taken_away(self.host) and (now is None or now.use != "thinks")

    @property
    def live(self) -> Path:
        """The operator's task folder, or the copy of it that the run's comparison keeps."""
        return edits.live_folder(self.workspace, self.run)

    async def execute(self) -> None:
        """Iterate until the run is over. Raises Interrupted, RunRestart, TaskError, BuildError and PlugInError."""
        job_times.set([])
        device_claim.set(self._claim)
        while not self.run.over:
            try:
                task, bench = await self._ready()
                if self.number == first_lane(self.run):
                    self._tell_sanitizer(task, bench)
                await self._iterations(task, bench)
            except RunRestart:
                if not self._goes_on_alone():
                    raise

    def _goes_on_alone(self) -> bool:
        """Return whether the lane begins again by itself, while others go on; without others, the whole run does.

        On a host that is lent it may be another device: the lane leaves, and comes back with that.
        """
        alone = len(self.run.lanes) > 1 and not is_on_demand(self.host.transport.kind)
        return alone and self.pool.hosts.get(self.host.name) is self.host

    def _tell_sanitizer(self, task: Task, bench: Bench) -> None:
        if bool(bench.tools) != self.run.sanitizes:
            self.journal.emit(e.SanitizerFound(self.run_id, bool(bench.tools)))
        if wants_sanitizer(task) and not bench.tools and not self.run.iterations:
            self.journal.emit(e.Noticed("warning", NoSanitizer(self.run_id, self.host.name)))

    async def _ready(self) -> tuple[Task, Bench]:
        """Copy the task, build its harness and measure the roofline; trouble pauses the run until `resume`."""
        while True:
            await self.control.checkpoint()
            try:
                task = pinned_task(self.workspace, self.journal, self.run_id)
                await self.control.run(self.host.connect())
                self._follow_machine()
                return task, await self.control.run(self._prepared(task))
            except (HostError, OSError) as err:
                await handle_trouble(self.journal, self.control, self.run_id, self.host, err)

    def _follow_machine(self) -> None:
        """Note which machine all is prepared on. Raises RunRestart for another allocation: its devices are others."""
        if self.host.machine != self._machine and is_on_demand(self.host.transport.kind):
            raise RunRestart
        self._machine = self.host.machine
        prepared_on.set((self.host.name, self._machine))

    async def _prepared(self, task: Task) -> Bench:
        bench = await prepare(self.host, task, self.place.device, self._say)
        note_peaks(self.pool, self.host.name, bench)
        return bench

    def _say(self, text: str) -> None:
        self.journal.live("build", self.run_id, 0, text)

    async def _iterations(self, task: Task, bench: Bench) -> None:
        """Iterate until the plan says that the run is over; winners have their last checks meanwhile."""
        beside = Beside(lambda number: sanitize(self._attempt(number, AGAIN, task, bench), self._turns), self._unlooked)
        try:
            while not self.run.over:
                try:
                    await self.control.checkpoint()
                except Interrupted as interrupted:
                    if interrupted.how != "skip":
                        raise
                    self.give_up(interrupted)
                    continue
                if self.number == first_lane(self.run):
                    beside.begin(self.run)
                bench = await self._next(task, bench, beside)
        finally:
            await beside.stop()

    async def _next(self, task: Task, bench: Bench, beside: Beside) -> Bench:
        """Do what comes next, and return the bench, which may have had to be prepared again."""
        step = self._planned(task)
        match step:
            case plan.End():
                self.journal.emit(e.RunEnded(self.run_id, step.outcome, step.cause))
                report_end(self.workspace, self.journal, self.run_id)
            case plan.Wait():
                await self.control.wait_until(lambda: self.run.over or not isinstance(self._planned(task), plan.Wait))
            case plan.Sanitize():
                await self._sanitized(step.number, beside, bench.tools)
            case plan.Reflect():
                await self._reflect(self._attempt(step.number, step.agent, task, bench))
            case plan.Iterate():
                await self._follow_settings()
                if self._planned(task) == step:  # else another lane, or a person, was faster
                    return await self._iteration(step, task, bench)
        return bench

    def _planned(self, task: Task) -> plan.Action:
        return plan.next_action(self.run, task.bench.direction, self.number)

    async def _sanitized(self, number: int, beside: Beside, tools: tuple[Tool, ...]) -> None:
        """Wait for the last checks of the iteration, or until a person skips that: it stays provisional then.

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
                self.journal.emit(e.Sanitized(self.run_id, number, not_run(tools, f"skipped by {interrupted.by}")))
        except (HostError, OSError) as err:
            await handle_trouble(self.journal, self.control, self.run_id, self.host, err)
            raise RunRestart from err

    def _unlooked(self, number: int, err: HostError | OSError) -> None:
        self.journal.emit(e.Noticed("warning", Unlooked(self.run_id, number, str(err))))

    async def _follow_settings(self) -> None:
        """Use changes of [claude] and [agents], and of the run's agents and model, from the next iteration on.

        This also happens when the run resumes: what cannot be asked can be replaced that way. A run of a comparison
        keeps the settings that it began with.
        """
        run, now = self.run, self._settings()
        agents = now.agents if run.compared is None else self.config.agents
        claude = replace(now.claude, model=run.model or now.claude.model)
        if (claude, agents, run.agent) != (self.config.claude, self.config.agents, self._named):
            self.config, self._named = replace(self.config, claude=claude, agents=agents), run.agent
            await self.let_go()

    async def let_go(self) -> None:
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
            for_good = not rotation.explores(self.run, step.agent)
            self.journal.emit(e.IterationEnded(self.run_id, step.number, "skipped", NothingLeft(err.why), for_good))
        except Unconfirmed as err:
            self.journal.emit(e.IterationEnded(self.run_id, step.number, "infra", err.why))
        except Interrupted as interrupted:
            if interrupted.how != "skip":
                raise
            self.give_up(interrupted)
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
            self.run_id, step.number, step.agent, parent, edit, step.of, step.thorough, step.confirming, self.number
        )
        self.journal.emit(begun)
        waiting = tuple(line.note for line in run.steering if line.consumed_by is None)
        reads = held.reads_steering and not rotation.explores(run, step.agent)
        if waiting and reads:
            self.journal.emit(e.SteeringConsumed(self.run_id, waiting, step.number))

    def give_up(self, interrupted: Interrupted) -> None:
        """End the iteration that was to be skipped, unless it has just ended by itself."""
        if (current := current_in(self.run, self.number)) is not None:
            self.journal.emit(e.IterationEnded(self.run_id, current.number, "skipped", Skipped(interrupted.by)))
