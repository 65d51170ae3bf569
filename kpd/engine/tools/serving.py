"""Serves an agent in its session over a socket of its own: it answers the tools of that session, and nothing else.

The messages are those of the daemon's socket, of which only `hello` and three queries are known here: `tools` lists the
tools, `tool` calls one, and `called` reports a call of a built tool's server. Who connects is not trusted: sizes, types
and names are checked, and calls are counted.
"""

import asyncio
import hashlib
import logging
import os
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

import msgspec

from kpd import __version__, messages as m
from kpd.engine.attempt import Attempt
from kpd.engine.journal import holding
from kpd.engine.tools.catalogue import SESSION
from kpd.engine.tools.desk import Desk, Workplace
from kpd.engine.tools.tool import Tool, chosen
from kpd.engine.trials import close_cut
from kpd.model.codec import encode
from kpd.model.events import Event
from kpd.model.tools import ToolsGiven
from kpd.model.trials import ToolCalled, TrialBudget
from kpd.operations.calling import arguments_of
from kpd.operations.operation import Refused
from kpd.text.foreign import visible
from kpd.wire import MAX_REQUEST, PROTOCOL, DaemonError
from kpd.workspace.listener import bind_private
from kpd.workspace.paths import SOCKET_PATH_BYTES, Workspace

NAME = "kpd.sock"
MOST_CALLS = 2000
"""The most calls of one session: each is recorded, so a flood of them would fill the log."""
MOST_CLIENTS = 8
"""The most connections of a session at a time."""
MOST_NAMES, LONGEST_NAME = 50, 100
"""Arguments of a reported call, and characters of a name in it."""
SERVER = "kpd"
"""The name under which calls of kpd's own tools are recorded."""
log = logging.getLogger(__name__)


@asynccontextmanager
async def serve_session(
    attempt: Attempt, folder: Path, tree: Path, budget: TrialBudget, clean: Callable[[str], str]
) -> AsyncIterator[Path]:
    """Serve the agent that works in `tree` while the block runs; yield the path of the socket, which is in `folder`.

    `clean` is applied to every text in the arguments of a call, before anything of them is used or recorded.
    The socket lies elsewhere where the folder's path is too long for one. A trial that is under way at the end of the
    block is cut off; it stays open where the block is cancelled, so that the next daemon takes it up. Raises OSError.
    """
    path = _socket_path(attempt.workspace, folder)
    server = _SessionServer(attempt, Workplace(attempt, tree, budget), clean)
    path.unlink(missing_ok=True)  # whatever an agent has put there
    listener = await asyncio.start_unix_server(
        server.accept, sock=bind_private(path), limit=MAX_REQUEST, start_serving=False
    )
    over = True
    try:
        await listener.start_serving()  # cancelled in here, it still listens
        yield path
    except asyncio.CancelledError:
        over = False
        raise
    finally:
        listener.close()
        await server.end()
        path.unlink(missing_ok=True)
        if over:
            with holding(attempt.journal):
                close_cut(attempt)


_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_NAME)]
MOST_SIZE = 1 << 40
"""Bytes, and milliseconds, of a reported call."""
_Size = Annotated[int, msgspec.Meta(ge=0, le=MOST_SIZE)]


class _Report(msgspec.Struct, forbid_unknown_fields=True):
    """A call of a built tool's server. Who reports it is the agent's side, so it decides nothing."""

    server: _Name
    tool: _Name
    ok: bool
    ms: Annotated[float, msgspec.Meta(ge=0, le=MOST_SIZE)]
    arguments: Annotated[dict[_Name, _Size], msgspec.Meta(max_length=MOST_NAMES)]
    result: _Size


class _SessionServer:
    """The connections of one session, and its calls so far."""

    def __init__(self, attempt: Attempt, place: Workplace, clean: Callable[[str], str]) -> None:
        self._attempt = attempt
        self._clean = clean
        self._place = place
        self._clients: set[asyncio.Task[Any]] = set()
        self._over = False
        facts = [event.fact for event in self._events(attempt.run_id, attempt.number)]
        self._calls = sum(isinstance(fact, ToolCalled) and fact.server == SERVER for fact in facts)
        self._reports = sum(isinstance(fact, ToolCalled) and fact.server != SERVER for fact in facts)
        self._servers = {ref.partition("@")[0] for fact in facts if isinstance(fact, ToolsGiven) for ref in fact.tools}

    def _events(self, run: str, number: int) -> Iterable[Event]:
        return self._attempt.journal.events(run, number)

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one client until it is gone, or the session is over."""
        if self._over:  # it had connected already
            writer.close()
            return
        client = asyncio.create_task(self._serve(reader, writer))
        self._clients.add(client)
        try:
            await asyncio.wait([client])  # a task of asyncio's own, as this is, must not be cancelled
        finally:
            self._clients.discard(client)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of a client in turn."""
        try:
            if len(self._clients) > MOST_CLIENTS:
                raise DaemonError("refused", f"a session has {MOST_CLIENTS} connections at most", "close another one")
            async for request in _requests(reader):
                writer.write(await self._reply(request))
                await writer.drain()
        except DaemonError as err:
            writer.write(m.error_line(None, err))
        except (ConnectionError, asyncio.IncompleteReadError):
            log.debug("a client of session %s.%s is gone", self._attempt.run_id, self._attempt.number)

    async def end(self) -> None:
        """End all connections, and what they wait for."""
        self._over = True
        left = tuple(self._clients)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    async def _reply(self, request: m.Request) -> bytes:
        try:
            match request:
                case m.Hello(id=id):
                    state = self._attempt.journal.state
                    return m.reply_line(id, m.Welcome(__version__, state.workspace, os.getpid(), True, state.seq))
                case m.Query(id=id, what="tools"):
                    return m.reply_line(id, [tool.declaration(of_run=False) for tool in SESSION.values()])
                case m.Query(id=id, what="tool", args={"name": name, **rest}) if rest.keys() <= {"args"}:
                    return m.reply_line(
                        id, await self._called(chosen(SESSION, name), cleaned(rest.get("args") or {}, self._clean))
                    )
                case m.Query(id=id, what="called", args=args):
                    self._called_elsewhere(cleaned(args, self._clean))
                    return m.reply_line(id, None)
            raise Refused("a session's socket answers `tools`, `tool` and `called`, and no operation", "use the tools")
        except DaemonError as err:
            return m.error_line(request.id, err)
        except Exception as err:
            log.exception("cannot answer an agent's %.500s", request)
            return m.error_line(request.id, DaemonError("internal", f"{type(err).__name__}: {err}", "go on without it"))

    async def _called(self, tool: Tool, args: Any) -> Any:
        if not isinstance(args, dict):
            raise DaemonError("usage", f"the arguments of {tool.name} must be an object")
        if self._calls >= MOST_CALLS:
            raise Refused(f"{MOST_CALLS} calls are the most that a session may make", "end your turn")
        self._calls += 1
        attempt = self._attempt
        desk = Desk(attempt.workspace, attempt.journal.state, attempt.run, self._events, self._place)
        begun, size = time.perf_counter(), 0
        try:
            found = await tool.answer(desk, args)
            size = len(encode(found))
            return found
        finally:
            ms, ok = 1000 * (time.perf_counter() - begun), bool(size)
            with holding(attempt.journal):
                attempt.journal.emit(
                    ToolCalled(attempt.run_id, attempt.number, SERVER, tool.name, ok, ms, sizes(tool, args), size)
                )

    def _called_elsewhere(self, args: dict[str, Any]) -> None:
        """Record a call of a built tool's server, as the agent's side reports it. Raises DaemonError."""
        try:
            found = msgspec.convert(args, type=_Report)
        except msgspec.ValidationError as err:
            raise DaemonError("usage", f"no report of a call: {err}") from err
        if found.server not in self._servers or self._reports >= MOST_CALLS:
            raise Refused(f"no call of {visible(found.server)} can be recorded", "go on without it")
        self._reports += 1
        arguments = {visible(name): size for name, size in found.arguments.items()}
        what = found.server, visible(found.tool), found.ok, found.ms, arguments, found.result
        with holding(self._attempt.journal):
            self._attempt.journal.emit(ToolCalled(self._attempt.run_id, self._attempt.number, *what))


def cleaned(value: Any, clean: Callable[[str], str]) -> Any:
    """Return a value of JSON with all its texts cleaned, the names of its fields too."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(name): cleaned(one, clean) for name, one in value.items()}
    return [cleaned(one, clean) for one in value] if isinstance(value, list) else value


def sizes(tool: Tool, args: dict[str, Any]) -> dict[str, int]:
    """Return the size of each argument in bytes; those that the tool does not have are together `?`."""
    known = getattr(arguments_of(tool.use), "__dataclass_fields__", {})
    found: dict[str, int] = {}
    for name, value in args.items():
        key = name if name in known else "?"
        found[key] = found.get(key, 0) + len(encode(value))
    return found


async def _requests(reader: asyncio.StreamReader) -> AsyncIterator[m.Request]:
    """Yield the requests of a client; the first must be `hello`. Raises DaemonError, IncompleteReadError."""
    greeted = False
    while True:
        try:
            request = m.request(await reader.readuntil(b"\n"))
        except asyncio.LimitOverrunError as err:
            raise DaemonError("protocol", f"a message may have {MAX_REQUEST} bytes at most") from err
        if isinstance(request, m.Hello) == greeted or (isinstance(request, m.Hello) and request.protocol != PROTOCOL):
            raise DaemonError("protocol", f"say hello first, once, in protocol {PROTOCOL}", "use one version of kpd")
        greeted = True
        yield request


def _socket_path(workspace: Workspace, folder: Path) -> Path:
    """Return a path that is short enough for a socket: in `folder`, else beside the daemon's. Raises WorkspaceError."""
    path = folder / NAME
    if len(os.fsencode(path)) <= SOCKET_PATH_BYTES:
        return path
    mark = hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
    return workspace.make_socket_folder().with_name(f"{mark}.sock")
