"""Serves the socket: checks who may connect, answers requests, and isolates clients from each other."""

import asyncio
import contextlib
import logging
import math
import os
import socket
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Self

from kpd import __version__, messages as m
from kpd.daemon.hardening import is_confined, is_of_a_job
from kpd.daemon.journal import EventJournal, Message
from kpd.daemon.outbox import GRACE_S, LiveSummary, Outbox
from kpd.daemon.store import StoreError
from kpd.daemon.system import peer
from kpd.wire import HEARTBEAT_S, MAX_REQUEST, PROTOCOL, DaemonError, LiveOutput, clean_name
from kpd.workspace.listener import bind_private

CATCH_UP = 2000  # events; a subscriber further behind gets a snapshot
MAX_OPEN = 32  # requests of one client under way; further ones wait unread
HELLO_S = 10.0
REFUSALS_S = 10.0  # of which one line at the most is in the log
OnQuery = Callable[[str, dict[str, Any]], Awaitable[Any]]
OnCommand = Callable[[str, dict[str, Any], str], Awaitable[Any]]
log = logging.getLogger(__name__)


class Server:
    """A socket server at `path` for clients of the daemon's own user.

    `on_query(what, args)` and `on_command(verb, args, by)` answer with anything that has JSON, or raise DaemonError.
    They run to their end even when the client that asked is gone.
    """

    def __init__(self, path: Path, journal: EventJournal, on_query: OnQuery, on_command: OnCommand) -> None:
        self._path = path
        self._journal = journal
        self._on_query = on_query
        self._on_command = on_command
        self._clients: set[_Client] = set()
        self._answering: set[asyncio.Task[None]] = set()
        self._refused_at = -math.inf

    async def __aenter__(self) -> Self:
        """Begin to listen. The caller holds the workspace's lock, so an existing socket belongs to no living daemon.

        The folder is private to the user: see Workspace.make_socket_folder. Raises OSError.
        """
        listener = bind_private(self._path)
        self._inode = self._path.lstat().st_ino
        self._server = await asyncio.start_unix_server(self._accept, sock=listener, limit=MAX_REQUEST)
        self._unsubscribe = self._journal.subscribe(self._publish)
        self._heart = asyncio.create_task(self._beat(), name="kpd heartbeat")
        return self

    async def __aexit__(self, kind: object, error: object, trace: object) -> None:
        """Stop listening, send the answers under way (for GRACE_S at most), and tell every client."""
        self._server.close()
        if self._answering:
            await asyncio.wait(self._answering, timeout=GRACE_S)
        self._unsubscribe()
        ended = (self._heart, *self._answering)
        for task in ended:
            task.cancel()
        await asyncio.gather(*ended, return_exceptions=True)
        farewell = m.error_line(None, DaemonError("infra", "the daemon has stopped", "kpd start starts it again"))
        clients = tuple(self._clients)
        for client in clients:
            client.outbox.put(farewell)
            client.outbox.end()
        if clients:
            await asyncio.wait([client.task for client in clients])
        with contextlib.suppress(FileNotFoundError):
            if self._path.lstat().st_ino == self._inode:
                self._path.unlink()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None, "asyncio runs this callback as a task"
        client = _Client(task, Outbox(writer))
        self._clients.add(client)
        sender = asyncio.create_task(client.outbox.run())
        listener = asyncio.create_task(self._listen(client, reader, writer))
        try:
            # The first to end decides: the client is gone or broke the protocol, or it was cut off.
            await asyncio.wait((sender, listener), return_when=asyncio.FIRST_COMPLETED)
            client.subscribed = False
            client.outbox.end()
            await sender
        finally:
            self._clients.discard(client)
            client.brief.end()
            listener.cancel()
            sender.cancel()
            client.outbox.abort()

    def _check_peer(self, connection: socket.socket) -> None:
        pid, uid = peer(connection)
        if uid != os.getuid():
            raise DaemonError(
                "refused", f"this daemon serves user {os.getuid()}, not user {uid}", "run a daemon of your own"
            )
        of_a_job = is_of_a_job(pid)
        if of_a_job or is_confined(pid):
            self._log_refused(pid, "belongs to a job, or has ended" if of_a_job else "is in a sandbox")
            whom = "of a job" if of_a_job else "in a sandbox"
            raise DaemonError("refused", f"this daemon serves no process {whom}", "ask from a terminal of your own")

    def _log_refused(self, pid: int, why: str) -> None:
        """Note it in the log, but not so often that who connects again and again fills the disk."""
        now = time.monotonic()
        if now - self._refused_at >= REFUSALS_S:
            log.warning("process %d %s, so it is not served", pid, why)
            self._refused_at = now

    async def _listen(self, client: "_Client", reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            self._check_peer(writer.get_extra_info("socket"))
            async with asyncio.timeout(HELLO_S):
                first = await _line(reader)
            if first is None:
                return
            self._welcome(client, m.request(first))
            while (line := await _line(reader)) is not None:
                while len(client.open) >= MAX_OPEN:
                    await asyncio.wait(client.open, return_when=asyncio.FIRST_COMPLETED)
                self._begin(client, m.request(line))
        except TimeoutError:
            client.outbox.end(DaemonError("protocol", f"no hello within {HELLO_S:g} s"))
        except DaemonError as err:
            client.outbox.end(err)
        except ConnectionError as err:
            log.debug("client %s is gone: %s", client.name, err)

    def _welcome(self, client: "_Client", hello: m.Request) -> None:
        if not isinstance(hello, m.Hello):
            raise DaemonError("protocol", "the first message must be hello")
        if hello.protocol != PROTOCOL:
            ours = f"this daemon is kpd {__version__} with protocol {PROTOCOL}"
            theirs = f"the client is kpd {hello.version} with protocol {hello.protocol}"
            raise DaemonError("protocol", f"{ours}, {theirs}", "kpd shutdown, then kpd start with the newer one")
        client.name = clean_name(hello.client) or "?"
        client.by = clean_name(hello.by) or client.name
        client.read_only = hello.read_only
        state = self._journal.state
        client.outbox.put(
            m.reply_line(hello.id, m.Welcome(__version__, state.workspace, os.getpid(), hello.read_only, state.seq))
        )

    def _begin(self, client: "_Client", request: m.Request) -> None:
        match request:
            case m.Hello():
                raise DaemonError("protocol", "hello was said already")
            case m.Subscribe():
                client.outbox.put(m.reply_line(request.id, {"seq": self._journal.state.seq}))
                client.live = request.live
                self._catch_up(client, request.after)
            case m.Query() | m.Command():
                task = asyncio.create_task(self._answer(client, request))
                for tasks in (client.open, self._answering):
                    tasks.add(task)
                    task.add_done_callback(tasks.discard)

    async def _answer(self, client: "_Client", request: m.Query | m.Command) -> None:
        try:
            if isinstance(request, m.Query):
                result = await self._on_query(request.what, request.args)
            elif client.read_only:
                remedy = "attach without --read-only"
                raise DaemonError("refused", f"this client may only read: {request.verb:.40} is not done", remedy)
            else:
                result = await self._on_command(request.verb, request.args, client.by)
            line = m.reply_line(request.id, result)
        except DaemonError as err:
            line = m.error_line(request.id, err)
        except StoreError as err:
            line = m.error_line(request.id, DaemonError("infra", err.message, err.remedy))
        except Exception as err:
            log.exception("cannot answer %.500s", request)
            defect = DaemonError("internal", f"{type(err).__name__}: {err}", "this is a defect: see .kpd/daemon.log")
            line = m.error_line(request.id, defect)
        client.outbox.put(line)

    def _catch_up(self, client: "_Client", after: int) -> None:
        """Bring a subscriber from the event `after` up to now. This does not await, so nothing is emitted meanwhile."""
        client.subscribed = True
        state = self._journal.state
        if 0 < after <= state.seq and state.seq - after <= CATCH_UP:
            try:
                for event in list(self._journal.events(after=after)):
                    client.outbox.put(m.push_line(event))
                return
            except StoreError as err:
                log.warning("a subscriber gets the state in place of the events: %s", err)
        client.outbox.put_snapshot(m.push_line(state))

    def _publish(self, message: Message) -> None:
        subscribers = [client for client in self._clients if client.subscribed]
        if not subscribers:
            return
        line = m.push_line(message)
        for client in subscribers:
            if not isinstance(message, m.Live):
                client.outbox.put(line)
            elif client.live == "full":
                client.outbox.put_live(line)
            elif client.live == "brief":
                client.brief.hear(message)

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_S)
            line = m.push_line(m.Heartbeat(self._journal.state.seq))
            for client in self._clients:
                if client.subscribed and client.outbox.idle:
                    client.outbox.put(line)


class _Client:
    """One connection; its name is known after hello."""

    def __init__(self, task: asyncio.Task[None], outbox: Outbox) -> None:
        self.task = task
        self.outbox = outbox
        self.brief = LiveSummary(outbox)
        self.name = "?"
        self.by = "?"
        self.read_only = True
        self.live: LiveOutput = "full"
        self.subscribed = False
        self.open: set[asyncio.Task[None]] = set()


async def _line(reader: asyncio.StreamReader) -> bytes | None:
    """Read the next whole line; None where there are no more. Raises DaemonError for one that is too long."""
    try:
        return await reader.readuntil(b"\n")
    except asyncio.IncompleteReadError:  # the client was closed or killed, perhaps in mid-message
        return None
    except asyncio.LimitOverrunError as err:
        raise DaemonError("protocol", f"a message may have {MAX_REQUEST} bytes at most") from err
