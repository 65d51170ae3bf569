"""The queue, and everything an operator may do to a run. Each act is checked, takes effect, and is an event."""

import re
import shutil
from pathlib import Path

from kpd.engine import edits
from kpd.engine.campaign import Campaign, end_run
from kpd.engine.conductor import Conductor
from kpd.engine.fleet import Fleet
from kpd.engine.journal import Journal, run_of
from kpd.engine.refused import Refused, refuse_agents
from kpd.model import events as e
from kpd.model.causes import Stopped
from kpd.model.nouns import Budget, Iteration, Run
from kpd.model.standing import PausedBy
from kpd.text.endings import of_run
from kpd.text.standing import hold
from kpd.workspace.config import ANY, Config
from kpd.workspace.paths import Workspace
from kpd.workspace.runfolder import IterationFolder
from kpd.workspace.task import Task, card, find_tasks, load_task


class Engine:
    """The hosts, the runs on them, and the acts that people take."""

    def __init__(self, workspace: Workspace, config: Config, journal: Journal) -> None:
        self.workspace = workspace
        self.config = config
        self.journal = journal
        self.fleet = Fleet(workspace, journal, self.wake)
        self.conductor = Conductor(workspace, config, journal, self.fleet)

    async def serve(self) -> None:
        """Keep the hosts and conduct runs as they come, until cancelled or shut down."""
        self.fleet.use(self.config.hosts)
        await self.conductor.serve()

    def configure(self, config: Config) -> None:
        """New settings: for the next run, and for every host that no run is on."""
        self.config = self.conductor.config = config
        self.fleet.use(config.hosts)
        self.wake()

    async def shut_down(self) -> None:
        """Cancel the steps under way, wait until their processes are gone, let go of the hosts."""
        await self.conductor.shut_down()
        await self.fleet.close()

    def wake(self) -> None:
        self.conductor.wake()

    def _campaign(self, run: Run) -> Campaign | None:
        return self.conductor.campaigns.get(run.id)

    # ── acts ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def enqueue(self, task: Task, agent: str, host: str, budget: Budget, by: str, approve: bool = False) -> str:
        """Queue a run of `task`; a task that only ships with kpd is first copied into the workspace.

        With `approve` its candidates wait for a person.
        """
        if host != ANY and host not in self.config.hosts:
            known = ", ".join((ANY, *self.config.hosts))
            raise Refused(f"no host {host!r}", f"hosts: {known}; kpd hosts add adds one")
        refuse_agents(agent, self.workspace, host, self.config.hosts)
        live = self.workspace.tasks / task.name
        if task.folder != live:
            shutil.copytree(task.folder, live, dirs_exist_ok=True)
        if self.journal.state.tasks.get(task.name) != (now := card(load_task(live))):
            self.journal.emit(e.TaskLoaded(now))  # it has just been made, and the watcher has not seen it yet
        run = self._new_run()
        self.journal.emit(e.RunQueued(run, task.name, agent, host, budget, by, approve))
        self.wake()
        return run

    def _new_run(self) -> str:
        """The next number that neither the log nor the runs folder has used; folders are never written over."""
        used = [int(run[1:]) for run in self.journal.state.runs]
        used += [int(path.name[1:]) for path in self.workspace.runs.glob("*/r*") if re.fullmatch(r"r\d+", path.name)]
        return f"r{max(used, default=0) + 1}"

    def pause(self, run: Run, by: str) -> None:
        if run.status == "paused":
            raise Refused(f"{run.id} is paused already: {of_run(run)}", "kpd resume")
        if run.status != "running":
            raise Refused(f"{run.id} is not running ({run.status})")
        self.journal.emit(e.RunPaused(run.id, PausedBy(by), by))

    def resume(self, run: Run | None, by: str) -> None:
        """Release a held queue, and the run if it is paused."""
        held = bool(self.journal.state.held)
        if not held and (run is None or (run.status != "paused" and not run.waiting)):
            raise Refused("nothing is paused or held")
        if held:
            self.journal.emit(e.QueueReleased(by))
        if run is not None and run.status == "paused":
            self.journal.emit(e.RunResumed(run.id, by))
        if run is not None:
            self.fleet.nudge(run.host)
        self.look_at_folders()
        self.wake()

    def steer(self, run: Run, text: str, note: int | None, by: str) -> int:
        """Queue a line for the next iteration; with `note`, replace that line, or withdraw it if `text` is empty."""
        if run.status == "ended":
            raise Refused(f"{run.id} has ended", "steer a run that is queued, running or paused")
        if note is None:
            if not text:
                raise Refused("there is nothing to say", 'kpd steer "use 256-bit loads"')
            note = max((line.note for line in run.steering), default=0) + 1
        else:
            line = next((line for line in run.steering if line.note == note), None)
            if line is None:
                raise Refused(f"{run.id} has no steering note {note}")
            if line.consumed_by is not None:
                raise Refused(f"note {note} was consumed by iteration {line.consumed_by}", "add a new one")
        self.journal.emit(e.Steered(run.id, note, text, by))
        return note

    def skip(self, run: Run, by: str) -> None:
        campaign = self._campaign(run)
        if run.current is None or campaign is None:
            raise Refused(f"{run.id} has no iteration under way to skip")
        campaign.control.interrupt("skip", by)

    async def stop(self, run: Run, by: str) -> None:
        """End the run now, killing what it has running; answered once it has ended."""
        if run.status == "ended":
            raise Refused(f"{run.id} has ended already: {of_run(run)}")
        campaign = self._campaign(run)
        if campaign is not None:
            campaign.control.interrupt("stop", by)
            await campaign.over.wait()
            if run_of(self.journal, run.id).status != "ended":
                raise Refused(
                    f"{run.id} could not be ended: {hold(self.journal.state.held)}", "mend that, then stop it again"
                )
            return
        was_active = run.status in ("running", "paused")
        end_run(self.journal, run.id, "stopped", Stopped(by))
        if was_active:
            self.fleet.end_leftovers(run.host)
        if was_active and self.journal.state.held and not self.journal.state.begun:
            self.journal.emit(e.QueueReleased(by))  # it was held for this run
        self.wake()

    def memo(self, run: Run, it: Iteration, text: str, by: str) -> None:
        """The operator's own words on an iteration."""
        if not text.strip():
            raise Refused("the memo is empty")
        self.journal.emit(e.MemoGiven(run.id, it.number, text.strip(), by))
        IterationFolder(self.workspace.iteration_folder(run.task, run.id, it.number)).write(
            "memo.md", text.strip() + "\n"
        )

    # ── the workspace changed on disk ─────────────────────────────────────────────────────────────────────────────

    def on_change(self, paths: frozenset[Path]) -> None:
        """An edit in the task folder of an open run becomes its next iteration. Raises JournalError."""
        tasks = self.workspace.tasks
        inside = (path.relative_to(tasks) for path in paths if path.is_relative_to(tasks) and path != tasks)
        self.look_at_folders({path.parts[0] for path in inside})

    def look_at_folders(self, tasks: set[str] | None = None, by: str = "") -> None:
        """Look for edits of these tasks, or of all: those made while nobody was watching. Raises JournalError."""
        for run in tuple(self.journal.state.runs.values()):
            if edits.is_open(run) and (tasks is None or run.task in tasks):
                edits.look(self.workspace, self.journal, run, by)
        self.wake()

    # ── finding things ────────────────────────────────────────────────────────────────────────────────────────────

    def task(self, name: str) -> Task:
        """The task called `name`, in the workspace or shipped. Raises Refused, or TaskError for a broken one."""
        tasks = find_tasks(self.workspace)
        if name not in tasks:
            raise Refused(f"no task {name!r}", f"tasks: {', '.join(sorted(tasks)) or 'none; kpd task new NAME'}")
        return load_task(tasks[name])
