"""Lets an agent that has a network of its own reach the hosts that it may reach, and no other.

Names go through a proxy (HTTP, RFC 9110: CONNECT, or a request with a whole URL), and ports of this machine's loopback
are there under the same number. All that comes from the agent may be hostile; of what it says to its service nothing is
read but the server's name with which TLS begins.
"""

import asyncio
import contextlib
import logging
import re
import socket
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from kpd.sessions.proxy_request import BadRequest, read_request
from kpd.sessions.tls_name import HANDSHAKE, BadHello, ClientHello
from kpd.workspace.endpoints import ANYWHERE, PORTS, Endpoint, endpoint, is_inside, is_ip

MOST_HEAD = 16 << 10
MOST_OPEN = 64
MOST_TOLD = 20
"""Bytes of a request's head, connections at a time, and addresses whose refusal is told."""
HEAD_S = 10.0
DIAL_S = 20.0
IDLE_S = 900.0
RETRY_S = 1.0
"""Seconds for a request to come, for a host to answer, without a byte (a model may think for minutes), and until the
next try after a connection could not be taken."""
CHUNK = 64 << 10
PROXY_PORT = 3128
URL = re.compile(r"https?://[^\s\"'<>,;\\]+")
log = logging.getLogger(__name__)
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Reach:
    """The addresses that an agent may reach."""

    hosts: frozenset[Endpoint] = frozenset()

    @property
    def here(self) -> dict[int, Endpoint]:
        """Those of this machine's loopback, by port."""
        return {one.port: one for one in sorted(self.hosts, key=str) if one.here}

    @property
    def proxy_port(self) -> int:
        return next(port for port in range(PROXY_PORT, PROXY_PORT + len(self.here) + 1) if port not in self.here)

    @property
    def ports(self) -> tuple[int, ...]:
        return (self.proxy_port, *self.here)

    @property
    def env(self) -> dict[str, str]:
        """The variables by which programs find the proxy."""
        url, near = f"http://127.0.0.1:{self.proxy_port}", "localhost,127.0.0.1"  # the network has no listener on ::1
        found = {"HTTPS_PROXY": url, "HTTP_PROXY": url, "ALL_PROXY": url, "NO_PROXY": near}
        return {**found, **{name.lower(): value for name, value in found.items()}}


def reach_of(hosts: Iterable[str], env: Mapping[str, str]) -> Reach | None:
    """Return what an agent with these `hosts` of its table may reach, with those of URLs in its variables.

    None: everything.
    """
    named = set(hosts)
    if ANYWHERE in named:
        return None
    found = set(map(endpoint, named))
    for url in (url for value in env.values() for url in URL.findall(value)):
        with contextlib.suppress(ValueError):  # the agent will say that it is none
            found.add(endpoint(url))
    return Reach(frozenset(found))


class AgentNetwork:
    """The way out of an agent's own network. `refused` is called with each address that it may not reach, once."""

    def __init__(self, reach: Reach, refused: Callable[[Endpoint], None]) -> None:
        self._reach = reach
        self._refused = refused
        self._told: set[Endpoint] = set()
        self._open: set[asyncio.Task[None]] = set()
        self._room = asyncio.Event()
        self._accepting: list[asyncio.Task[None]] = []
        self._listeners: Sequence[socket.socket] = ()

    def open(self, listeners: Sequence[socket.socket]) -> None:
        """Serve the listeners of the agent's network, which are those of `Reach.ports`, in this order."""
        self._listeners = listeners
        for port, listener in zip(self._reach.ports, listeners, strict=True):
            to = self._reach.here.get(port)
            serve = self._proxied if to is None else partial(self._forwarded, to)
            listener.setblocking(False)
            self._accepting.append(asyncio.create_task(self._accept(listener, serve), name="network of an agent"))

    async def close(self) -> None:
        tasks = (*self._accepting, *self._open)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for listener in self._listeners:
            listener.close()

    async def _accept(self, listener: socket.socket, serve: Serve) -> None:
        """Take connections while there is room for them; others wait in the system's queue."""
        loop = asyncio.get_running_loop()
        while True:
            while len(self._open) >= MOST_OPEN:
                self._room.clear()
                await self._room.wait()
            try:
                connection, _ = await loop.sock_accept(listener)
            except OSError as err:
                log.debug("no connection of an agent could be taken: %r", err)
                await asyncio.sleep(RETRY_S)
                continue
            task = asyncio.create_task(self._served(connection, serve), name="connection of an agent")
            self._open.add(task)
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._open.discard(task)
        self._room.set()

    async def _served(self, connection: socket.socket, serve: Serve) -> None:
        try:
            reader, writer = await asyncio.open_connection(sock=connection, limit=MOST_HEAD)
            try:
                await serve(reader, writer)
            finally:
                writer.close()
        except (OSError, EOFError, asyncio.LimitOverrunError, asyncio.CancelledError) as err:  # `close` cancels
            log.debug("a connection of an agent ended: %r", err)

    async def _forwarded(self, to: Endpoint, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _joined((reader, writer), await _dialled(to))

    async def _proxied(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request to the proxy. What follows it goes to the same host."""
        async with asyncio.timeout(HEAD_S):
            head = await reader.readuntil(b"\r\n\r\n")
        try:
            request = read_request(head)
        except BadRequest as err:
            return await _answered(writer, "400 Bad Request", str(err))
        if request.to not in self._reach.hosts:
            self._tell(request.to)
            return await _answered(writer, "403 Forbidden", f"{request.to} is not among the hosts of this agent")
        try:
            host = await _dialled(request.to)
        except OSError as err:
            return await _answered(writer, "502 Bad Gateway", f"{request.to} cannot be reached: {err}")
        with contextlib.closing(host[1]):
            try:
                host[1].write(request.head or await self._said_first(reader, writer, request.to))
            except BadHello as err:
                log.debug("an agent said to %s what it may not: %s", request.to, err)
                writer.write(err.answer)
                with contextlib.suppress(ValueError):  # it asked for no name, or for what is none
                    self._tell(endpoint(f"{err.name}:{request.to.port}"))
                return None
            return await _joined((reader, writer), host)

    async def _said_first(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, to: Endpoint) -> bytes:
        """Tell a client that it is connected, and return what it then says first.

        Raises BadHello where that asks another server, as one behind the same front end, for an answer.
        """
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        async with asyncio.timeout(IDLE_S):
            data = said = await reader.read(CHUNK)
        if is_ip(to.host) or (to.port != PORTS["https"] and data[:1] != HANDSHAKE):
            return said
        hello = ClientHello(to.host)
        async with asyncio.timeout(HEAD_S):
            while data and not hello.fits(data):
                said += (data := await reader.read(CHUNK))
        return said

    def _tell(self, to: Endpoint) -> None:
        if to not in self._told and len(self._told) < MOST_TOLD:
            self._told.add(to)
            self._refused(to)


async def _answered(writer: asyncio.StreamWriter, status: str, why: str) -> None:
    body = f"kpd: {why}\n".encode(errors="replace")
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    writer.write(head.encode() + body)
    async with asyncio.timeout(HEAD_S):
        await writer.drain()


def leads_here(ip: str) -> bool:
    """Return whether an IP leads to this machine or its link; what goes to an own address has it as its source."""
    if is_inside(ip):
        return True
    with socket.socket(socket.AF_INET6 if ":" in ip else socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect((ip, 9))  # which sends nothing
        except OSError:  # no way leads there
            return False
        return bool(asking.getsockname()[0] == ip)


async def _dialled(to: Endpoint) -> Streams:
    """Connect to an address. Raises OSError, also where a name leads to this machine itself."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(DIAL_S):
        found = [each[4][0] for each in await loop.getaddrinfo(to.host, to.port, type=socket.SOCK_STREAM)]
        outside = found if to.here or is_ip(to.host) else [ip for ip in found if not leads_here(str(ip))]
        trouble = OSError("its name leads to this machine")
        for ip in dict.fromkeys(outside):
            try:
                return await asyncio.open_connection(str(ip), to.port)
            except OSError as err:
                trouble = err
    raise trouble


async def _joined(one: Streams, other: Streams) -> None:
    """Carry bytes both ways until both sides have ended, one breaks, or nothing has come for IDLE_S seconds."""
    loop = asyncio.get_running_loop()

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(CHUNK):
            idle.reschedule(loop.time() + IDLE_S)
            writer.write(data)
            await writer.drain()
        writer.write_eof()

    try:
        async with asyncio.timeout(IDLE_S) as idle, asyncio.TaskGroup() as both:
            both.create_task(carry(one[0], other[1]))
            both.create_task(carry(other[0], one[1]))
    except* OSError as broken:
        log.debug("a connection of an agent broke: %s", broken.exceptions[0])
    finally:
        other[1].close()
