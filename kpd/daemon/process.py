"""Runs the daemon: store, journal, engine, server. Handles signals, recovers after a crash, ends cleanly."""

import asyncio
import logging
import os
import shutil
import signal
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Literal

from kpd import __version__
from kpd.daemon import alert, commands, hardening, knowledge_views, system, views
from kpd.daemon.deployer import Deployer
from kpd.daemon.deployments import DeploymentReader
from kpd.daemon.journal import EventJournal, Listener
from kpd.daemon.log_tail import NOTICED, LogTail
from kpd.daemon.preparer import Preparer
from kpd.daemon.server import Server
from kpd.daemon.sources import Sources
from kpd.daemon.store import EventStore
from kpd.daemon.unguarded import ProjectLooker
from kpd.daemon.watchdog_timer import WatchdogTimer
from kpd.daemon.watcher import Watcher, survey_tasks
from kpd.engine import ledger, questions
from kpd.engine.engine import Engine
from kpd.engine.journal import holding
from kpd.messages import Live
from kpd.model import events as e
from kpd.model.notices import EditsUnseen, Finishing, Level, Said, SettingsRead, SettingsRefused, Subject
from kpd.model.run import Run
from kpd.model.state import State
from kpd.model.status import Queued
from kpd.model.waits import Hold, LeftAt, Unfinished
from kpd.operations.checking import checked
from kpd.operations.machines import ShutDown
from kpd.text.notices import told
from kpd.workspace.config import Config, load_config
from kpd.workspace.environment import take_key
from kpd.workspace.paths import Workspace
from kpd.workspace.strict import ConfigError

log = logging.getLogger(__name__)

Ended = Literal["crashed", "cut", "rested"]
"""How the previous daemon ended: crashed or killed, shut down within a step, or shut down between steps."""


class Daemon:
    """The parts of the daemon that live as long as its process."""

    def __init__(self, workspace: Workspace, config: Config, journal: EventJournal) -> None:
        self.workspace = workspace
        self.journal = journal
        self.engine = Engine(workspace, config, journal)
        self.diary = LogTail(journal)
        self.deployments = DeploymentReader(workspace, journal)
        self.deployer = Deployer(workspace, lambda: self.engine.config, journal, self.deployments.look)
        self.preparer = Preparer(workspace, lambda: self.engine.config, journal, self.engine.wake)
        self.looker = ProjectLooker(journal, lambda: self.engine.config, self.engine.pool.hosts)
        self.ending = asyncio.Event()
        self.rested = False
        self._finishing: asyncio.Task[None] | None = None
        self._refused = False  # config.toml, as it was last read
        self._version: tuple[int, ...] = ()  # of config.toml as it was last read; the first command looks again
        self._held_told: Hold | None = None
        self._background: set[asyncio.Task[None]] = set()
        journal.subscribe(self._alert)
        journal.subscribe(self._wait_no_more)

    def end(self, now: bool = False) -> tuple[str, ...]:
        """End after the steps under way, which are returned; with `now`, cut them and end at once."""
        self.deployer.close()
        self.preparer.close()
        if now:
            self.ending.set()
            return ()
        left = self.engine.scheduler.finish()
        if self._finishing is None:
            self._finishing = asyncio.create_task(self._finish())
            if left:
                system.stopping()
                self._say("info", Finishing(tuple(left)))
        return left

    def on_signal(self) -> None:
        """End on SIGTERM or SIGINT: after the first, the steps under way finish; the second cuts them."""
        self.end(now=self._finishing is not None)

    def on_hangup(self) -> None:
        """Read config.toml again on SIGHUP, even if it has not changed."""
        if not self._reload():
            self._say("info", SettingsRead(changed=False))

    async def _finish(self) -> None:
        await self.engine.scheduler.finished()
        self.rested = not self.ending.is_set()
        self.ending.set()

    def _say(self, level: Level, about: Subject) -> None:
        log.log(getattr(logging, level.upper()), "%s", told(about), extra=NOTICED)
        with holding(self.journal):
            self.journal.emit(e.Noticed(level, about))

    async def serve(self, ended: Ended) -> None:
        """Serve until `ending` is set. `ended` is how the previous daemon ended."""
        async with AsyncExitStack() as stack:
            survey_tasks(self.workspace, self.journal)
            self.deployments.look()
            stack.callback(self.deployments.close)
            for _, wrong in await asyncio.to_thread(list, knowledge_views.plug_ins()):
                if wrong is not None:
                    self._say("warning", Said(str(wrong)))
            hold_unfinished(self.journal, ended)
            ledger.settle(self.journal)
            questions.drop(self.journal)
            self.engine.look_at_folders()
            await asyncio.to_thread(
                shutil.rmtree, self.workspace.rooms, ignore_errors=True
            )  # of a daemon that was killed
            path = self.workspace.make_socket_folder()
            await stack.enter_async_context(Server(path, self.journal, self._query, self._command))
            self.workspace.socket_note.write_text(str(path))
            await stack.enter_async_context(Watcher(self.workspace, self.on_change, self._on_lost))
            self.looker.begin()
            stack.callback(self.looker.close)
            engine = asyncio.create_task(self.engine.serve())
            engine.add_done_callback(lambda task: self.ending.set())  # without an engine there is nothing to serve
            stack.push_async_callback(self._end_engine, engine)
            for outside in (self.preparer, self.deployer):
                outside.begin()
                stack.callback(outside.close)
            stack.callback(WatchdogTimer(self.journal, lambda: self.engine.config.notify).close)
            system.ready()
            await self.ending.wait()
            system.stopping()

    async def _end_engine(self, engine: asyncio.Task[None]) -> None:
        """Cancel the step under way: its processes are killed, and its run is left to the next daemon."""
        await self.engine.shut_down()
        engine.cancel()
        with suppress(asyncio.CancelledError):
            await engine

    async def _query(self, what: str, args: dict[str, object]) -> object:
        if what == "glance":
            return await commands.device_status(self.engine.pool, args)
        if what == "diary":
            return self.diary.answer(args)
        return await asyncio.to_thread(views.answer, what, args, Sources(self.journal.state, self.workspace))

    async def _command(self, verb: str, args: dict[str, object], by: str) -> object:
        if verb == "shutdown":
            return {"finishes": self.end(checked(ShutDown, args).now), "pid": os.getpid()}
        if _version(self.workspace.config) != self._version:  # who saves and resumes means what was saved
            self._reload()
        return await commands.carry_out(self.engine, verb, args, by)

    def on_change(self, paths: frozenset[Path]) -> None:
        """Take in changes of files that people edit, and of deployments."""
        if self.workspace.config in paths:
            self._reload()
        with holding(self.journal):  # a resume looks at the folders again
            survey_tasks(self.workspace, self.journal)
            self.engine.on_change(paths)
        self.deployments.look()

    def _on_lost(self, reason: str) -> None:
        self.journal.emit(e.Noticed("error", EditsUnseen(reason)))

    def _reload(self) -> bool:
        """Read config.toml again, and return whether there was anything new, which is then told."""
        self._version = _version(self.workspace.config)
        try:
            config = load_config(self.workspace)
            if config == self.engine.config and not self._refused:
                return False
            changed = config != self.engine.config
            self.engine.configure(config)
            take_key(config.claude.api_key_env)
        except ConfigError as err:
            self._refused = True
            self._say("error", SettingsRefused(str(err)))
        else:
            self._refused = False
            self._say("info", SettingsRead(changed))
        return True

    def _wait_no_more(self, message: e.Event | Live | State) -> None:
        """End a step that begins to wait while the daemon is finishing: such a wait can take hours."""
        if self._finishing is not None and isinstance(message, e.Event) and isinstance(message.fact, e.RunWaits):
            self.engine.scheduler.finish()

    def _alert(self, message: e.Event | Live | State) -> None:
        command = self.engine.config.notify.command
        text = None
        if isinstance(message, e.Event):
            text, self._held_told = alert.worth_telling(message.fact), None
        elif isinstance(message, State) and message.held != self._held_told:
            self._held_told = message.held  # held in memory only: no event says so
            text = alert.held(message.held)
        if command and text:
            task = asyncio.ensure_future(alert.tell(command, text, self.journal))
            self._background.add(task)
            task.add_done_callback(self._background.discard)


async def serve(workspace: Workspace, listeners: Sequence[Listener] = ()) -> int:
    """Run the workspace's daemon until SIGTERM, SIGINT or `shutdown`, and return the exit code.

    After the first of these signals the steps under way finish; a second one cuts them. `listeners` get everything that
    the journal publishes, after it is durable. Raises AlreadyRunning, StoreError, ConfigError, WorkspaceError or
    OSError before anything has begun.
    """
    workspace.make_private()
    config = load_config(workspace)
    hardening.close_memory()
    take_key(config.claude.api_key_env)
    with system.hold_lock(workspace.lock):
        journal = EventJournal(EventStore(workspace.store))
        ended = how_it_ended(journal)
        for listener in listeners:
            journal.subscribe(listener)
        journal.emit(e.DaemonStarted(__version__, os.getpid(), str(workspace.root)))
        daemon = Daemon(workspace, config, journal)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, daemon.on_signal)
        loop.add_signal_handler(signal.SIGHUP, daemon.on_hangup)
        try:
            with daemon.diary.kept():
                await daemon.serve(ended)
            journal.emit(e.DaemonStopped(daemon.rested))
        finally:
            journal.close()
    return 0


def _version(file: Path) -> tuple[int, ...]:
    """Return what changes when a file is saved; nothing, if there is none."""
    try:
        found = file.stat()
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_size, found.st_ino


def how_it_ended(journal: EventJournal) -> Ended:
    """Return how the previous daemon ended; to be called before `DaemonStarted` is emitted. Raises JournalError."""
    if journal.state.pid is not None:
        return "crashed"
    last = journal.store.tail(1)
    fact = last[0].fact if last else e.DaemonStopped(rested=True)
    return "rested" if isinstance(fact, e.DaemonStopped) and fact.rested else "cut"


def hold_unfinished(journal: EventJournal, ended: Ended) -> None:
    """Hold the queue until a person says `resume`, if the previous daemon left runs unfinished and did not rest.

    Their jobs go on meanwhile: a step that is begun again follows its job, or reads its result. Jobs that no run needs
    are ended when their host is reached (`engine.leftovers`). Raises JournalError.
    """
    state = journal.state
    runs = state.begun or state.queue[:1]
    if state.held or not runs or ended == "rested" or (ended == "cut" and not state.begun):
        return
    journal.emit(
        e.QueueHeld(
            Unfinished("cut" if ended == "cut" else "crashed", tuple(at for run in runs for at in _left_at(run)))
        )
    )


def _left_at(run: Run) -> tuple[LeftAt, ...]:
    if isinstance(run.status, Queued):
        return (LeftAt(run.id, step=run.at_phase.name) if run.at_phase else LeftAt(run.id, queued=True),)
    if run.open:
        return tuple(LeftAt(run.id, iteration=it.number, step=it.step) for it in run.open)
    return (LeftAt(run.id, iteration=run.iterations[-1].number, behind=True) if run.iterations else LeftAt(run.id),)
