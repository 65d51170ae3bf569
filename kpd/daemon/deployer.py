"""Deploys the winners of runs that were queued for that: each in a process of its own, which outlives the daemon."""

import asyncio
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from kpd.agents.catalogue import fixer_keys
from kpd.daemon.journal import EventJournal, Message
from kpd.engine.journal import holding, run_of
from kpd.model import events as e
from kpd.model.deploying import deployed_by, due
from kpd.model.run import Run
from kpd.text.foreign import plain
from kpd.workspace.config import Config
from kpd.workspace.deployments import DeploymentJournal
from kpd.workspace.environment import keys
from kpd.workspace.paths import Workspace

BUSY_S = 5.0
LOOK_S = 0.5  # after which a process may have been gone before that is seen
LAST_WORDS = 2000  # bytes of its output that are searched for its last line
SAID = 300
MOST_BEGUN = 3
"""How often a deployment is begun for a run, if its process is ended before it can say how it went."""
GAVE_UP = f"its process was ended {MOST_BEGUN} times before it could say how it went"
log = logging.getLogger(__name__)


class Deployer:
    """Begins what is due, one process a project; `read` brings what the process has journalled into the log.

    A process that a former daemon began holds the project's journal: until it is gone, nothing else begins.
    """

    def __init__(
        self, workspace: Workspace, settings: Callable[[], Config], journal: EventJournal, read: Callable[[], None]
    ) -> None:
        self._workspace = workspace
        self._settings = settings
        self._journal = journal
        self._read = read
        self._children: dict[str, asyncio.Task[None]] = {}
        self._later: asyncio.TimerHandle | None = None
        self._begins = False

    def begin(self) -> None:
        """Begin what is due, now and whenever something is from now on."""
        self._begins = True
        self._journal.subscribe(self._heard)
        self._look()

    def close(self) -> None:
        """Begin nothing any more; the processes go on."""
        self._begins = False
        self._look()

    def _heard(self, message: Message) -> None:
        if isinstance(message, e.Event) and isinstance(message.fact, e.RunEnded | e.DeploymentSeen | e.QueueReleased):
            self._look()

    def _look(self) -> None:
        if self._later is not None:
            self._later.cancel()
            self._later = None
        if not self._begins or self._journal.state.held:
            return
        waiting = [run for run in due(self._journal.state) if run.deploy not in self._children]
        busy = {name for name in {run.deploy for run in waiting} if self._busy(name)}
        for run in waiting:
            if run.deploy not in busy and run.deploy not in self._children:
                self._children[run.deploy] = asyncio.create_task(self._deploy(run))
        if busy:
            self._later = asyncio.get_running_loop().call_later(BUSY_S, self._look)

    def _busy(self, project: str) -> bool:
        """Return whether a process holds the project's journal, or nobody can say."""
        try:
            return DeploymentJournal(self._workspace.deployments / project).busy
        except OSError as err:
            log.warning("whether %s is being deployed is not known: %s", project, err)
            return True

    async def _deploy(self, run: Run) -> None:
        try:
            with holding(self._journal):
                if failed := await self._tried(run):
                    self._journal.emit(e.DeployNotBegun(run.id, run.deploy, plain(failed, SAID)))
        finally:
            del self._children[run.deploy]
            self._look()

    async def _tried(self, run: Run) -> str:
        """Deploy in a process; return why nothing was begun, empty where something was. Raises JournalError."""
        if run.deploys >= MOST_BEGUN:
            return GAVE_UP
        output = self._workspace.deployments / run.deploy / f"{run.id}.output"
        before = deployed_by(self._journal.state, run)
        self._journal.emit(e.DeployBegun(run.id, run.deploy))
        try:
            failed = await _ended(self._workspace.root, run, output, self._environment(run.deploy))
        except Exception as err:
            log.exception("the deployment of %s cannot be begun", run.id)
            failed = f"{type(err).__name__}: {err}"
        self._read()
        return failed if deployed_by(self._journal.state, run_of(self._journal, run.id)) == before else ""

    def _environment(self, project: str) -> dict[str, str]:
        """Return the environment of a project's process: of the keys it has those of who mends its files."""
        config = self._settings()
        who = config.project[project].fixer if project in config.project else "none"
        return {**os.environ, **{name: keys()[name] for name in fixer_keys(who, config) if name in keys()}}


async def _ended(root: Path, run: Run, output: Path, env: Mapping[str, str]) -> str:
    """Deploy in a process with its output in a file, and wait for its end; return its last words if it failed."""
    try:
        process = _begun(root, run, output, env)
    except OSError as err:
        return f"{err.filename or output}: {err.strerror}"
    while True:
        if (code := process.poll()) is not None:
            return _last_words(output, code)
        await asyncio.sleep(LOOK_S)


def _begun(root: Path, run: Run, output: Path, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Begin the process: no subprocess of asyncio, as those are killed with their loop. Raises OSError."""
    deploy = ["project", "deploy", run.deploy, run.id, "--gate"]
    command = [sys.executable, "-P", "-m", "kpd.cli.main", "-w", str(root), *deploy]
    output.parent.mkdir(parents=True, exist_ok=True)
    output.unlink(missing_ok=True)
    with output.open("xb") as file:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, env=env, start_new_session=True
        )


def _last_words(output: Path, code: int) -> str:
    if code == 0:
        return ""
    said = ""
    with suppress(OSError), output.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - LAST_WORDS))
        said = file.read().decode(errors="replace").strip()
    return said.splitlines()[-1] if said else f"it ended with {code}"
