"""The end of a client's connection."""

import asyncio
import socket

from kpd.daemon.outbox import Outbox


async def test_a_connection_that_was_closed_before_all_was_sent_can_be_aborted_later() -> None:
    """A timer does that after a while, and the server when it forgets the client."""
    near, far = socket.socketpair(socket.AF_UNIX)
    near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    _, writer = await asyncio.open_connection(sock=near)
    outbox = Outbox(writer)
    outbox.put(b"x" * 50_000)
    outbox.end()
    running = asyncio.create_task(outbox.run())
    with far:
        far.setblocking(False)
        received = b""
        while more := await asyncio.wait_for(asyncio.get_running_loop().sock_recv(far, 65536), 10):
            received += more
    await running
    assert len(received) == 50_000
    outbox.abort()
