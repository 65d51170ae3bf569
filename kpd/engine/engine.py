"""The queue, and everything an operator may do to a run. Each act is checked, takes effect, and is an event."""

import asyncio
import logging
import re
import shutil
from pathlib import Path

from kpd.agents.catalogue import CHOICES
from kpd.engine import taskfolder
from kpd.engine.campaign import Campaign
from kpd.engine.control import Interruption
from kpd.engine.journal import Journal, JournalError, run_of
from kpd.hosts.host import Host
from kpd.model import events as e
from kpd.model.nouns import Budget, Iteration, Run
from kpd.workspace.config import Config
from kpd.workspace.paths import Workspace
from kpd.workspace.runfolder import read_files, write_atomic
from kpd.workspace.task import Task, find_tasks, load_task

log = logging.getLogger(__name__)


class Refused(Exception):
    """The act cannot be taken now; the message says why, `remedy` what would help."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.remedy = remedy


class Engine:
    """Conducts one run at a time, oldest first."""

    def __init__(self, workspace: Workspace, config: Config, journal: Journal, hosts: dict[str, Host]) -> None:
        self.workspace = workspace
        self.config = config
        self.journal = journal
        self.hosts = hosts
        self._campaign: Campaign | None = None
        self._work = asyncio.Event()

    async def serve(self) -> None:
        """Conduct runs as they come, until cancelled or shut down."""
        while True:
            run = self._next()
            if run is None:
                self._work.clear()
                await self._work.wait()
                continue
            self._campaign = Campaign(self.workspace, self.config, self.journal, self.hosts[run.host], run.id)
            try:
                await self._campaign.conduct()
            except JournalError as err:
                self.journal.suspend(f"{err}; then resume")
            except Exception as err:  # whatever it is, the daemon and its log stay up for the operator to look at
                log.exception("%s was interrupted by an error of kpd's own", run.id)
                self.journal.suspend(f"kpd's own error in {run.id}: {err!r}; see the daemon's log, then resume or stop")
            finally:
                self._campaign = None

    def _next(self) -> Run | None:
        """The unfinished run a former daemon left, else the head of the queue; nothing while the queue is held."""
        state = self.journal.state
        if state.held:
            return None
        return state.active or next(iter(state.queue), None)

    def _wake(self) -> None:
        self._work.set()
        if self._campaign is not None:
            self._campaign.control.wake()

    def interrupt(self, how: Interruption, by: str) -> None:
        """Cancel what is under way, killing its processes on the host."""
        if self._campaign is not None:
            self._campaign.control.interrupt(how, by)

    async def shut_down(self) -> None:
        """Cancel the step under way and wait until its processes are gone; the run is left as it is."""
        campaign = self._campaign
        if campaign is not None:
            campaign.control.interrupt("shutdown", "")
            await campaign.over.wait()

    # ── acts ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def enqueue(self, task: Task, agent: str, host: str, budget: Budget, by: str) -> str:
        """Queue a run of `task`; a task that only ships with kpd is first copied into the workspace."""
        if agent not in CHOICES:
            raise Refused(f"no agent {agent!r}", f"agents: {', '.join(CHOICES)}")
        if host not in self.hosts:
            raise Refused(f"no host {host!r}", f"hosts: {', '.join(self.hosts)}; add [hosts.{host}] to config.toml")
        live = self.workspace.tasks / task.name
        if task.folder != live:
            shutil.copytree(task.folder, live, dirs_exist_ok=True)
        run = self._new_run(task.name)
        self.journal.emit(e.RunQueued(run, task.name, agent, host, budget, by))
        self._wake()
        return run

    def _new_run(self, task: str) -> str:
        """The next number that neither the log nor the runs folder has used; folders are never written over."""
        used = [int(run[1:]) for run in self.journal.state.runs]
        used += [int(path.name[1:]) for path in self.workspace.runs.glob("*/r*") if re.fullmatch(r"r\d+", path.name)]
        return f"r{max(used, default=0) + 1}"

    def pause(self, run: Run, by: str) -> None:
        if run.status == "paused":
            raise Refused(f"{run.id} is paused already: {run.reason}", "kpd resume")
        if run.status != "running":
            raise Refused(f"{run.id} is not running ({run.status})")
        self.journal.emit(e.RunPaused(run.id, f"paused by {by}", by))

    def resume(self, run: Run | None, by: str) -> None:
        """Release a held queue, and the run if it is paused."""
        held = bool(self.journal.state.held)
        if not held and (run is None or run.status != "paused"):
            raise Refused("nothing is paused or held")
        if held:
            self.journal.emit(e.QueueReleased(by))
        if run is not None and run.status == "paused":
            self.journal.emit(e.RunResumed(run.id, by))
        self._wake()

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
        if run.current is None or self._campaign is None or self._campaign.run_id != run.id:
            raise Refused(f"{run.id} has no iteration under way to skip")
        self.interrupt("skip", by)

    async def stop(self, run: Run, by: str) -> None:
        """End the run now, killing what it has running; answered once it has ended."""
        if run.status == "ended":
            raise Refused(f"{run.id} has ended already: {run.reason}")
        if self._campaign is not None and self._campaign.run_id == run.id:
            campaign = self._campaign
            self.interrupt("stop", by)
            await campaign.over.wait()
            return
        if (current := run.current) is not None:
            self.journal.emit(e.IterationEnded(run.id, current.number, "interrupted", f"stopped by {by}"))
        self.journal.emit(e.RunEnded(run.id, "stopped", f"stopped by {by}"))
        self._wake()

    def accept(self, run: Run, it: Iteration, reason: str, by: str) -> None:
        """The operator's override: what was built and checked becomes the incumbent, marked as such."""
        if it.number == run.incumbent:
            raise Refused(f"{run.id}.{it.number} is the incumbent already")
        if it.score is None:
            raise Refused(f"{run.id}.{it.number} was never timed: it did not build, or its results are wrong")
        if it.outcome is None:
            raise Refused(f"{run.id}.{it.number} is still under way")
        files = self._candidate(run, it)
        self._write(run, files)
        override = reason or f"accepted by {by} against the verdict"
        self.journal.emit(e.Accepted(run.id, it.number, taskfolder.hashes(files), by, override))
        self.journal.emit(e.FolderWritten(run.id, taskfolder.hashes(files)))

    def rollback(self, run: Run, it: Iteration, force: bool, by: str) -> None:
        """Make an accepted iteration (or the baseline) the incumbent again; appends, erases nothing."""
        if it.outcome not in ("accepted", "baseline") and not it.override:
            raise Refused(f"{run.id}.{it.number} was never accepted", "kpd log shows the accepted iterations")
        if it.number == run.incumbent:
            raise Refused(f"{run.id}.{it.number} is the incumbent already")
        files = self._candidate(run, it)
        if force:
            self._keep_edit(run)
            run = run_of(self.journal, run.id)
        self._write(run, files)
        self.journal.emit(e.RolledBack(run.id, it.number, taskfolder.hashes(files), by))
        self.journal.emit(e.FolderWritten(run.id, taskfolder.hashes(files)))
        self._wake()

    def memo(self, run: Run, it: Iteration, text: str, by: str) -> None:
        """The operator's own words on an iteration."""
        if not text.strip():
            raise Refused("the memo is empty")
        self.journal.emit(e.MemoGiven(run.id, it.number, text.strip(), by))
        write_atomic(self.workspace.iteration_folder(run.task, run.id, it.number) / "memo.md", text.strip() + "\n")

    def _candidate(self, run: Run, it: Iteration) -> dict[str, bytes]:
        folder = self.workspace.iteration_folder(run.task, run.id, it.number) / "candidate"
        return read_files(folder, self._snapshot(run).editable)

    def _snapshot(self, run: Run) -> Task:
        return load_task(self.workspace.run_folder(run.task, run.id) / "task" / run.task)

    def _write(self, run: Run, files: dict[str, bytes]) -> None:
        folder = self.workspace.tasks / run.task
        try:
            taskfolder.write(folder, files, run)
        except taskfolder.Conflict as err:
            ours = self.workspace.run_folder(run.task, run.id)
            raise Refused(
                f"{err}: the folder has your version, {ours.name}.{run.incumbent} is the incumbent",
                f"compare with `kpd diff {run.id}.{run.incumbent}`, then save, or use --force to keep a copy and go on",
            ) from err

    # ── the workspace changed on disk ─────────────────────────────────────────────────────────────────────────────

    def on_change(self, paths: frozenset[Path]) -> None:
        """An edit in the task folder of a live run becomes its next iteration; an edit of a protected file is said."""
        touched = {path.relative_to(self.workspace.tasks).parts[0] for path in paths if self._in_tasks(path)}
        for run in tuple(self.journal.state.runs.values()):
            if run.task in touched and run.status in ("running", "paused") and run.folder:
                self._look(run)

    def look_at_folders(self) -> None:
        """Edits made while no daemon was watching."""
        for run in tuple(self.journal.state.runs.values()):
            if run.status in ("running", "paused") and run.folder:
                self._look(run)

    def _in_tasks(self, path: Path) -> bool:
        return path.is_relative_to(self.workspace.tasks) and path != self.workspace.tasks

    def _look(self, run: Run) -> None:
        edit = taskfolder.edit_of(self.workspace.tasks / run.task, self._snapshot(run), run)
        if edit is None:
            return
        if set(edit.protected) - set(run.stale):
            self.journal.emit(e.BaselineStale(run.id, edit.protected))
            names = ", ".join(edit.protected)
            text = f"{run.task}: {names} changed; {run.id} goes on as it began, a new run measures a new baseline"
            self.journal.emit(e.Noticed("warning", text))
        if edit.files and not self._just_accepted(run, edit.files):
            self._pend(run, edit.files)

    def _just_accepted(self, run: Run, files: dict[str, bytes]) -> bool:
        """A crash between writing the folder and saying so left the incumbent there: not an edit."""
        return taskfolder.hashes(files) == run.files

    def _pend(self, run: Run, files: dict[str, bytes]) -> None:
        folder = self.workspace.run_folder(run.task, run.id) / "pending"
        for path, data in files.items():
            write_atomic(folder / path, data)
        conflict = ""
        if run.current is not None and run.current.agent != "operator":
            conflict = f"edited while iteration {run.current.number} was under way: it is measured next"
        self.journal.emit(e.OperatorEdited(run.id, taskfolder.hashes(files), conflict))
        self._wake()

    def _keep_edit(self, run: Run) -> None:
        """Before a forced rollback: the operator's version is kept in the run folder, and known from then on."""
        now = taskfolder.present(self.workspace.tasks / run.task, self._snapshot(run).editable)
        if taskfolder.hashes(now) != run.folder:
            self._pend(run, now)

    # ── finding things ────────────────────────────────────────────────────────────────────────────────────────────

    def task(self, name: str) -> Task:
        """The task called `name`, in the workspace or shipped. Raises Refused, or TaskError for a broken one."""
        tasks = find_tasks(self.workspace)
        if name not in tasks:
            raise Refused(f"no task {name!r}", f"tasks: {', '.join(sorted(tasks)) or 'none; kpd task new NAME'}")
        return load_task(tasks[name])
