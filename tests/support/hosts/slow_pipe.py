"""A TCP proxy on loopback that can be slow, frozen, cut or down: the network between kpd and a host."""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import AsyncIterator

CHUNK = 64 << 10
IN_FLIGHT = 4 << 20  # bytes one direction holds back while it delays or is frozen


class Proxy:
    """Forwards every connection to `127.0.0.1:to`. `p.port` is where it listens.

    `delay_s` is added to every byte in each direction without making the pipe thinner, and may be changed at any time.
    `down` refuses new connections. `passed` counts bytes towards the host, `returned` those from it.
    """

    def __init__(self, to: int) -> None:
        self.to = to
        self.port = 0
        self.delay_s = 0.0
        self.down = False
        self.passed = 0
        self.returned = 0
        self._cut_at: int | None = None
        self._moving = asyncio.Event()
        self._moving.set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()

    def cut(self) -> None:
        """Aborts every connection, both ends, without a word."""
        for writer in self._writers:
            writer.transport.abort()

    def cut_after(self, count: int) -> None:
        """Cuts when so many more bytes have gone towards the host; not one byte more gets there."""
        self._cut_at = self.passed + count

    def freeze(self) -> None:
        """Bytes stop; connections stay, and new ones are accepted and get nothing."""
        self._moving.clear()

    def thaw(self) -> None:
        self._moving.set()

    async def close(self) -> None:
        self.cut()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.down:
            writer.transport.abort()
            return
        self._writers.add(writer)
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.to)
        except OSError:
            writer.transport.abort()
            self._writers.discard(writer)
            return
        self._writers.add(far_writer)
        for end in (writer, far_writer):
            end.transport.set_write_buffer_limits(0)  # what was passed on is with the kernel, a cut does not lose it
        try:
            await asyncio.gather(self._pass(reader, far_writer, True), self._pass(far_reader, writer, False))
        finally:
            for end in (writer, far_writer):
                end.close()
                self._writers.discard(end)

    async def _pass(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, to_host: bool) -> None:
        line: deque[tuple[float, bytes]] = deque()
        changed, room = asyncio.Event(), asyncio.Event()
        held = 0

        async def take() -> None:
            nonlocal held
            with contextlib.suppress(OSError):
                while data := await source.read(CHUNK):
                    line.append((time.monotonic() + self.delay_s, data))
                    held += len(data)
                    changed.set()
                    while held > IN_FLIGHT:
                        room.clear()
                        await room.wait()
            line.append((time.monotonic() + self.delay_s, b""))
            changed.set()

        taking = asyncio.create_task(take())
        try:
            while True:
                while not line:
                    changed.clear()
                    await changed.wait()
                due, data = line[0]
                if (early := due - time.monotonic()) > 0:
                    await asyncio.sleep(early)
                await self._moving.wait()
                line.popleft()
                held -= len(data)
                room.set()
                if not data:
                    sink.write_eof()
                    return
                if to_host and self._cut_at is not None and self.passed + len(data) >= self._cut_at:
                    data, self._cut_at = data[: self._cut_at - self.passed], None
                    self.passed += len(data)
                    sink.write(data)
                    await sink.drain()
                    self.cut()
                    return
                if to_host:
                    self.passed += len(data)
                else:
                    self.returned += len(data)
                sink.write(data)
                await sink.drain()
        except OSError:
            sink.transport.abort()
        finally:
            taking.cancel()
            await asyncio.wait([taking])


@contextlib.asynccontextmanager
async def proxy(to: int) -> AsyncIterator[Proxy]:
    """A running proxy to that port."""
    running = Proxy(to)
    server = await asyncio.start_server(running.accepted, "127.0.0.1", 0)
    running.port = server.sockets[0].getsockname()[1]
    try:
        yield running
    finally:
        server.close()
        await running.close()
        await server.wait_closed()
