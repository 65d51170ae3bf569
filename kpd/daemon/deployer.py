"""Deploys the winners of runs that were queued for that: each in a process of its own, which outlives the daemon."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from kpd.agents.catalogue import agent_keys
from kpd.daemon.journal import EventJournal, Message
from kpd.engine.journal import holding, run_of
from kpd.model import events as e
from kpd.model.deploying import deployed_by, due
from kpd.model.run import Run
from kpd.workspace.config import Config
from kpd.workspace.deployments import DeploymentJournal
from kpd.workspace.environment import keys
from kpd.workspace.paths import Workspace

BUSY_S = 5.0
LAST_WORDS = 2000  # bytes of its output that are searched for its last line


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
        if self._later is not None:
            self._later.cancel()

    def _heard(self, message: Message) -> None:
        if isinstance(message, e.Event) and isinstance(message.fact, e.RunEnded | e.DeploymentSeen | e.QueueReleased):
            self._look()

    def _look(self) -> None:
        if not self._begins or self._journal.state.held:
            return
        for run in due(self._journal.state):
            if run.deploy in self._children:
                continue
            if DeploymentJournal(self._workspace.deployments / run.deploy).busy:
                self._later = asyncio.get_running_loop().call_later(BUSY_S, self._look)
                continue
            self._children[run.deploy] = asyncio.create_task(self._deploy(run))

    async def _deploy(self, run: Run) -> None:
        output = self._workspace.deployments / run.deploy / f"{run.id}.output"
        try:
            with holding(self._journal):
                before = deployed_by(self._journal.state, run)
                self._journal.emit(e.DeployBegun(run.id, run.deploy))
                failed = await _ended(self._workspace.root, run, output, self._environment(run.deploy))
                self._read()
                if failed and deployed_by(self._journal.state, run_of(self._journal, run.id)) == before:
                    self._journal.emit(e.DeployNotBegun(run.id, run.deploy, failed))
        finally:
            del self._children[run.deploy]
            self._look()

    def _environment(self, project: str) -> dict[str, str]:
        """Return the environment of a project's process: of the keys it has those of who mends its files."""
        config = self._settings()
        who = config.project[project].fixer if project in config.project else "none"
        own = (config.claude.api_key_env,) if who == "model" else agent_keys(who, config)
        return {**os.environ, **{name: keys()[name] for name in own if name in keys()}}


async def _ended(root: Path, run: Run, output: Path, env: Mapping[str, str]) -> str:
    """Deploy in a process with its output in a file, and wait for its end; return its last words if it failed."""
    try:
        process = _begun(root, run, output, env)
        await _gone(process.pid)
        return _last_words(output, process.wait())
    except OSError as err:
        return f"{err.filename or output}: {err.strerror}"


def _begun(root: Path, run: Run, output: Path, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Begin the process: no subprocess of asyncio, as those are killed with their loop. Raises OSError."""
    deploy = ["project", "deploy", run.deploy, run.id, "--gate"]
    command = [sys.executable, "-P", "-m", "kpd.cli.main", "-w", str(root), *deploy]
    output.parent.mkdir(parents=True, exist_ok=True)
    with output.open("wb") as file:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=file, stderr=file, env=env, start_new_session=True
        )


async def _gone(pid: int) -> None:
    """Wait for the end of a child. Raises OSError."""
    loop, gone = asyncio.get_running_loop(), asyncio.Event()
    handle = os.pidfd_open(pid)
    try:
        loop.add_reader(handle, gone.set)
        await gone.wait()
    finally:
        loop.remove_reader(handle)
        os.close(handle)


def _last_words(output: Path, code: int) -> str:
    if code == 0:
        return ""
    said = output.read_bytes()[-LAST_WORDS:].decode(errors="replace").strip()
    return said.splitlines()[-1] if said else f"it ended with {code}"
