"""Deploys the winners of runs that were queued for that: each in a process of its own, which outlives the daemon."""

import logging
from collections.abc import Callable, Iterable

from kpd.agents.catalogue import fixer_keys
from kpd.daemon.journal import EventJournal
from kpd.daemon.outside import GAVE_UP, MOST_BEGUN, SAID, OutsideWork, done_outside, with_keys
from kpd.engine.journal import run_of
from kpd.model import events as e
from kpd.model.deploying import deployed_by, due
from kpd.model.run import Run
from kpd.model.state import State
from kpd.text.foreign import plain
from kpd.workspace.config import Config
from kpd.workspace.deployments import DeploymentJournal
from kpd.workspace.paths import Workspace

log = logging.getLogger(__name__)


class Deployer(OutsideWork):
    """Begins what is due; `read` brings what the process has journalled into the log."""

    wakes = (e.RunEnded, e.DeploymentSeen, e.QueueReleased)

    def __init__(
        self, workspace: Workspace, settings: Callable[[], Config], journal: EventJournal, read: Callable[[], None]
    ) -> None:
        super().__init__(journal)
        self._workspace = workspace
        self._settings = settings
        self._read = read

    def due(self, state: State) -> Iterable[Run]:
        return due(state)

    def busy(self, project: str) -> bool:
        try:
            return DeploymentJournal(self._workspace.deployments / project).busy
        except OSError as err:
            log.warning("whether %s is being deployed is not known: %s", project, err)
            return True

    async def work(self, run: Run) -> None:
        if failed := await self._tried(run):
            self._journal.emit(e.DeployNotBegun(run.id, run.deploy, plain(failed, SAID)))

    async def _tried(self, run: Run) -> str:
        """Deploy in a process; return why nothing was begun, empty where something was. Raises JournalError."""
        if run.deploys >= MOST_BEGUN:
            return GAVE_UP
        output = self._workspace.deployments / run.deploy / f"{run.id}.output"
        before = deployed_by(self._journal.state, run)
        self._journal.emit(e.DeployBegun(run.id, run.deploy))
        words = ("project", "deploy", run.deploy, run.id, "--gate")
        try:
            failed = (await done_outside(self._workspace.root, words, output, with_keys(self._keys(run.deploy)))).said
        except Exception as err:
            log.exception("the deployment of %s cannot be begun", run.id)
            failed = f"{type(err).__name__}: {err}"
        self._read()
        return failed if deployed_by(self._journal.state, run_of(self._journal, run.id)) == before else ""

    def _keys(self, project: str) -> tuple[str, ...]:
        """Return the variables with the keys of who mends a project's files."""
        config = self._settings()
        return fixer_keys(config.project[project].fixer if project in config.project else "none", config)
