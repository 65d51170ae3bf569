"""What clients leave in the daemon's memory: nothing, as soon as they are gone."""

import asyncio
import gc
import json
import tracemalloc
from pathlib import Path

from kpd.daemon.server import Server
from kpd.wire import MAX_REQUEST, PROTOCOL

KEPT = 1 << 20
HELLO = json.dumps({"op": "hello", "id": 1, "protocol": PROTOCOL, "version": "1", "client": "x"}).encode() + b"\n"
HOSTILE = (
    b"[" * 100_000,
    b'"' + b"a" * MAX_REQUEST + b'"',
    json.dumps({"op": "query", "id": 2, "what": "echo", "args": {"x": "x" * 200_000}}).encode(),
    json.dumps({"op": "command", "id": 3, "verb": "note", "args": {"text": "y" * 100_000}}).encode(),
    json.dumps({"op": "subscribe", "id": 4, "after": -1}).encode(),
)


async def rude(path: Path, line: bytes) -> None:
    """Send a line after hello, and leave without reading."""
    _, writer = await asyncio.open_unix_connection(path)
    writer.write(HELLO + line + b"\n")
    await asyncio.sleep(0.01)
    writer.transport.abort()


async def test_hostile_clients_leave_nothing_in_memory(folder: Path, server: Server) -> None:
    async def storm() -> None:
        for _ in range(5):
            await asyncio.gather(*(rude(folder / "s", line) for line in HOSTILE * 2))

    await storm()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        await storm()
        await asyncio.sleep(0.3)
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] - before < KEPT
    finally:
        tracemalloc.stop()
