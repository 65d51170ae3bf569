"""The process: one store, one journal, one engine, one server; signals; a clean start and a clean end."""

import asyncio
import logging
import os
import signal
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path

from kpd import __version__
from kpd.daemon import alert, commands, lock, notify, recovery, survey, views
from kpd.daemon.journal import Journal, Listener
from kpd.daemon.server import Server
from kpd.daemon.store import Store
from kpd.daemon.watcher import Watcher
from kpd.engine import ledger
from kpd.engine.engine import Engine
from kpd.engine.journal import holding
from kpd.messages import Live
from kpd.model import events as e
from kpd.model.nouns import State
from kpd.workspace.config import Config, load_config
from kpd.workspace.paths import Workspace
from kpd.workspace.strict import ConfigError

log = logging.getLogger(__name__)


class Daemon:
    """Everything that lives as long as the process."""

    def __init__(self, workspace: Workspace, config: Config, journal: Journal) -> None:
        self.workspace = workspace
        self.journal = journal
        self.engine = Engine(workspace, config, journal)
        self.ending = asyncio.Event()
        self._background: set[asyncio.Task[None]] = set()
        journal.subscribe(self._alert)

    async def serve(self, clean_end: bool) -> None:
        """Until `ending` is set."""
        async with AsyncExitStack() as stack:
            survey.survey_tasks(self.workspace, self.journal)
            recovery.hold_unfinished(self.journal, clean_end)
            ledger.settle(self.journal)
            self.engine.look_at_folders()
            server = Server(self.workspace.make_socket_folder(), self.journal, self._query, self._command)
            await stack.enter_async_context(server)
            await stack.enter_async_context(Watcher(self.workspace, self.on_change, self._on_lost))
            engine = asyncio.create_task(self.engine.serve())
            engine.add_done_callback(lambda task: self.ending.set())  # without an engine there is nothing to serve
            stack.push_async_callback(self._end_engine, engine)
            notify.ready()
            await self.ending.wait()
            notify.stopping()

    async def _end_engine(self, engine: asyncio.Task[None]) -> None:
        """Cancel the step under way; its processes are killed, its run is left to the next daemon."""
        await self.engine.shut_down()
        engine.cancel()
        with suppress(asyncio.CancelledError):
            await engine

    async def _query(self, what: str, args: dict[str, object]) -> object:
        return await asyncio.to_thread(views.answer, what, args, views.Sources(self.journal.state, self.workspace))

    async def _command(self, verb: str, args: dict[str, object], by: str) -> object:
        if verb == "shutdown":
            self.ending.set()
            return {}
        return await commands.carry_out(self.engine, verb, args, by)

    def on_change(self, paths: frozenset[Path]) -> None:
        """Files that people edit have changed."""
        if self.workspace.config in paths:
            self._reload()
        with holding(self.journal):  # to resume looks at the folders again
            survey.survey_tasks(self.workspace, self.journal)
            self.engine.on_change(paths)

    def _on_lost(self, reason: str) -> None:
        self.journal.emit(e.Noticed("error", f"edits are not seen any more: {reason}"))

    def _reload(self) -> None:
        try:
            config = load_config(self.workspace)
            if config == self.engine.config:
                return
            self.engine.configure(config)
        except ConfigError as err:
            self.journal.emit(e.Noticed("error", f"{err}; the former settings stay in force"))
        else:
            self.journal.emit(
                e.Noticed("info", "config.toml was read again: for the next run, and for hosts that no run is on")
            )

    def _alert(self, message: e.Event | Live | State) -> None:
        command = self.engine.config.notify.command
        text = alert.worth_telling(message.fact) if isinstance(message, e.Event) else None
        if command and text:
            task = asyncio.ensure_future(alert.tell(command, text, self.journal))
            self._background.add(task)
            task.add_done_callback(self._background.discard)


async def serve(workspace: Workspace, listeners: Sequence[Listener] = ()) -> int:
    """Be the workspace's daemon until SIGTERM, SIGINT or `shutdown`. Returns the exit code.

    `listeners` are told everything that the journal publishes, after it is durable.
    Raises AlreadyRunning, StoreError, ConfigError, WorkspaceError, OSError before anything has begun.
    """
    workspace.make_private()
    config = load_config(workspace)
    with lock.hold(workspace.lock):
        journal = Journal(Store(workspace.store))
        clean_end = journal.state.pid is None
        for listener in listeners:
            journal.subscribe(listener)
        journal.emit(e.DaemonStarted(__version__, os.getpid(), str(workspace.root)))
        daemon = Daemon(workspace, config, journal)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, daemon.ending.set)
        try:
            await daemon.serve(clean_end)
            journal.emit(e.DaemonStopped("shut down"))
        finally:
            journal.close()
    return 0
