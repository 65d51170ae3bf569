"""Combines the parts of the engine: the hosts, the runs on them, and changes on disk."""

from pathlib import Path

from kpd.engine import edits
from kpd.engine.host_pool import HostPool
from kpd.engine.journal import Journal
from kpd.engine.scheduler import Scheduler
from kpd.workspace.config import Config
from kpd.workspace.paths import Workspace


class Engine:
    """The hosts and the runs on them; kpd/engine/operations holds what people do to these."""

    def __init__(self, workspace: Workspace, config: Config, journal: Journal) -> None:
        self.workspace = workspace
        self.config = config
        self.journal = journal
        self.pool = HostPool(workspace, journal, self.wake)
        self.scheduler = Scheduler(workspace, config, journal, self.pool)

    async def serve(self) -> None:
        """Connect to the hosts and execute runs as they come, until cancelled or shut down."""
        self.pool.use(self.config.hosts)
        await self.scheduler.serve()

    def configure(self, config: Config) -> None:
        """Use new settings: for the next run, and at once for every host that no run is on."""
        self.config = self.scheduler.config = config
        self.pool.use(config.hosts)
        self.wake()

    async def shut_down(self) -> None:
        """Cancel the steps under way, wait until their processes are gone, and close the hosts."""
        await self.scheduler.shut_down()
        await self.pool.close()

    def wake(self) -> None:
        self.scheduler.wake()

    # ── the workspace changed on disk ─────────────────────────────────────────────────────────────────────────────

    def on_change(self, paths: frozenset[Path]) -> None:
        """Turn an edit in the task folder of an open run into its next iteration. Raises JournalError."""
        tasks = self.workspace.tasks
        inside = (path.relative_to(tasks) for path in paths if path.is_relative_to(tasks) and path != tasks)
        self.look_at_folders({path.parts[0] for path in inside})

    def look_at_folders(self, tasks: set[str] | None = None, by: str = "") -> None:
        """Look for edits of these tasks, or of all, also those made while nobody was watching. Raises JournalError."""
        for run in tuple(self.journal.state.runs.values()):
            if edits.is_open(run) and (tasks is None or run.task in tasks):
                edits.detect_edit(self.workspace, self.journal, run, by)
        self.wake()
