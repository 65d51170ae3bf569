"""Forwards a unix socket on a host to this machine, for a UI elsewhere.

It goes over the helper's own channel, so it works over every transport and where the server forbids forwarding.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host
from kpd.hosts.link import Link
from kpd.workspace.listener import bind_new

CHUNK = 64 << 10
WINDOW = 1 << 20  # bytes that a client here has not taken yet; above this the far socket is not read
MOST_WAITING = 1 << 20  # bytes that the far socket has not taken yet; above this we read no more here
PATIENCE_S = 0.05  # between checks whether it has taken them


@contextlib.asynccontextmanager
async def forward(
    host: Host, listen: Path, to: str, broken: Callable[[HostError], None] = lambda err: None
) -> AsyncIterator[None]:
    """Forward connections to the unix socket `listen` here to the unix socket `to` on the host, inside the block.

    `listen` must lie in a folder that only its owner can enter. A connection that breaks with the link is closed; the
    next one uses the next link. `broken` is told why, before the client sees the end: there is no link, or nobody
    listens on the host. Raises OSError if `listen` cannot be bound.
    """
    open_now: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        open_now.add(task)
        try:
            # The client here is gone, and the far end sees its own end; or the forwarding is over, which is no error,
            # though asyncio's streams would report it as one.
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await _carry(await host.linked(), to, reader, writer)
        except HostError as err:
            broken(err)
        finally:
            open_now.discard(task)
            writer.close()

    server = await asyncio.start_unix_server(serve, sock=bind_new(listen), start_serving=False)
    try:
        await server.start_serving()  # cancelled in here, it still listens
        yield
    finally:
        server.close()
        for task in tuple(open_now):
            task.cancel()
        if open_now:
            await asyncio.wait(tuple(open_now))
        _remove(listen)


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)


async def _carry(link: Link, to: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    request = link.reserve()
    sending = asyncio.create_task(_send(link, request, reader))
    try:
        untold = 0
        async with contextlib.aclosing(link.follow("tunnel", path=to, window=WINDOW, request=request)) as frames:
            async for frame in frames:
                writer.write(frame.body)
                await writer.drain()
                untold += len(frame.body)
                if untold >= WINDOW // 4:
                    await link.tell("took", to=request, count=untold)
                    untold = 0
    finally:
        sending.cancel()
        await asyncio.wait([sending])
        with contextlib.suppress(HostError):  # the link is down, and the tunnel with it
            await link.ask("shut", to=request)


async def _send(link: Link, request: int, reader: asyncio.StreamReader) -> None:
    with contextlib.suppress(HostError, OSError):  # the far end takes no more: its own end says so, in `_carry`
        while data := await reader.read(CHUNK):
            answer = await link.ask("send", data, to=request, end=False)
            while answer.fields["waiting"] > MOST_WAITING:
                await asyncio.sleep(PATIENCE_S)
                answer = await link.ask("send", b"", to=request, end=False)
        await link.ask("send", b"", to=request, end=True)
