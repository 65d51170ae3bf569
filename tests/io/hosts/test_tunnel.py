"""Tunnels: a unix socket of the host over the helper's pipe, unchanged, bounded, and ended with either end."""

import asyncio
import contextlib
import json
import os
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import psutil
import pytest

from kpd.hosts.bundle import BOOTSTRAP, bundle
from kpd.hosts.errors import HostError
from kpd.hosts.helper.tunnel import CHUNK
from kpd.hosts.helper.wire import GREETING, KEPT, LENGTHS, pack
from tests.support.hosts.local import until
from tests.support.hosts.remote_daemon import Far, far_end

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
MOST = 1 << 20  # bytes that may wait on the host, as the near side keeps to it


@pytest.fixture
async def far(tmp_path):
    async with far_end(tmp_path / "host") as far:
        yield far


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s"


@contextlib.asynccontextmanager
async def served(path: Path, serve: Serve) -> AsyncIterator[list[str]]:
    """A server on the host. What it yields has "begun" and "ended" for each connection."""
    log: list[str] = []

    async def run(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        log.append("begun")
        try:
            with contextlib.suppress(ConnectionError):
                await serve(reader, writer)
        finally:
            writer.close()
            log.append("ended")

    server = await asyncio.start_unix_server(run, str(path))
    try:
        yield log
    finally:
        server.close()


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(1 << 16):
        writer.write(data)
        await writer.drain()


class Tunnel:
    """The near end: what has come, and whether the far end has ended."""

    def __init__(self, far: Far, path: Path, window: int = 1 << 30) -> None:
        self.window = window
        self.link = far.link
        self.request = far.link.reserve()
        self.got = bytearray()
        self.reading = asyncio.create_task(self._read(path))

    @classmethod
    async def to(cls, far: Far, path: Path, window: int = 1 << 30) -> "Tunnel":
        """Asked for, so that what is sent comes behind that."""
        tunnel = cls(far, path, window)
        await asyncio.sleep(0)
        return tunnel

    async def _read(self, path: Path) -> None:
        async with contextlib.aclosing(
            self.link.follow("tunnel", path=str(path), window=self.window, request=self.request)
        ) as frames:
            async for frame in frames:
                if frame.final:
                    assert frame.fields == {} and frame.body == b""
                else:
                    assert frame.fields["tunnel"] == 1
                    self.got += frame.body

    async def send(self, data: bytes, end: bool = False) -> int:
        return (await self.link.ask("send", data, to=self.request, end=end)).fields["waiting"]

    async def send_all(self, data: bytes) -> None:
        for start in range(0, len(data), 1 << 16):
            waiting = await self.send(data[start : start + (1 << 16)])
            while waiting > MOST:
                await asyncio.sleep(0.005)
                waiting = await self.send(b"")
        await self.send(b"", end=True)

    async def shut(self) -> None:
        await self.link.ask("shut", to=self.request)


def descriptors(far: Far) -> int:
    return psutil.Process(far.pid).num_fds()


async def test_five_megabytes_go_each_way_unchanged(far: Far, path: Path) -> None:
    data = os.urandom(5 << 20)
    async with served(path, echo):
        tunnel = await Tunnel.to(far, path)
        await tunnel.send_all(data)
        await tunnel.reading
    assert tunnel.got == data


async def test_many_at_once_keep_their_bytes_apart_and_leave_nothing_open(far: Far, path: Path) -> None:
    before = descriptors(far)
    datas = [os.urandom(200_000 + n) for n in range(30)]
    async with served(path, echo) as log:
        tunnels = [await Tunnel.to(far, path) for _ in datas]
        await asyncio.gather(*(tunnel.send_all(data) for tunnel, data in zip(tunnels, datas, strict=True)))
        await asyncio.gather(*(tunnel.reading for tunnel in tunnels))
        await until(lambda: log.count("ended") == len(datas))
    assert [tunnel.got for tunnel in tunnels] == datas
    assert descriptors(far) == before


async def test_a_server_that_closes_first_ends_the_tunnel(far: Far, path: Path) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"bye")

    before = descriptors(far)
    async with served(path, serve):
        tunnel = await Tunnel.to(far, path)
        await tunnel.reading
    assert tunnel.got == b"bye"
    with pytest.raises(HostError) as caught:
        await tunnel.send(b"x")
    assert caught.value.kind == "not_found"
    await tunnel.shut()
    assert descriptors(far) == before


async def test_a_server_that_closes_with_bytes_unread_ends_the_tunnel(far: Far, path: Path) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(1)
        writer.transport.abort()

    async with served(path, serve):
        tunnel = await Tunnel.to(far, path)
        await tunnel.send(bytes(300_000))
        await tunnel.reading
    assert tunnel.got == b""


async def test_the_end_of_what_a_client_sends_reaches_the_server_behind_the_last_byte(far: Far, path: Path) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"%d" % len(await reader.read()))  # until the end

    async with served(path, serve):
        tunnel = await Tunnel.to(far, path)
        await tunnel.send(bytes(3 << 20), end=True)
        await tunnel.reading
    assert tunnel.got == b"%d" % (3 << 20)


async def test_a_client_that_leaves_ends_the_servers_connection(far: Far, path: Path) -> None:
    before = descriptors(far)
    async with served(path, echo) as log:
        tunnel = await Tunnel.to(far, path)
        await tunnel.send(b"hello")
        await until(lambda: tunnel.got == b"hello")
        await tunnel.shut()
        await tunnel.reading
        await until(lambda: log == ["begun", "ended"])
        await tunnel.shut()
    assert descriptors(far) == before


async def test_the_helpers_death_ends_the_servers_connections(tmp_path: Path, path: Path) -> None:
    async with served(path, echo) as log:
        async with far_end(tmp_path / "host") as far:
            tunnels = [await Tunnel.to(far, path) for _ in range(3)]
            await until(lambda: log.count("begun") == 3)
            psutil.Process(far.pid).kill()
            for tunnel in tunnels:
                with pytest.raises(HostError):
                    await tunnel.reading
        await until(lambda: log.count("ended") == 3)


async def test_nobody_there(far: Far, path: Path) -> None:
    for wrong, kind in ((path, "not_found"), (path / "x", "not_found"), (Path(path.parent), "host")):
        with pytest.raises(HostError, match="cannot connect to") as caught:
            await Tunnel(far, wrong).reading
        assert caught.value.kind == kind
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))  # nobody listens: the server has gone and the file has stayed
        with pytest.raises(HostError, match="Connection refused") as caught:
            await Tunnel(far, path).reading
    assert caught.value.kind == "host"
    with pytest.raises(HostError, match="too long"):
        await Tunnel(far, Path("/" + "x" * 200)).reading
    assert (await far.ask("running"))["jobs"] == []


async def test_a_server_that_takes_nothing_is_seen_to(far: Far, path: Path) -> None:
    go = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await go.wait()
        writer.write(b"%d" % len(await reader.read()))

    async with served(path, serve):
        tunnel = await Tunnel.to(far, path)
        waiting = 0
        while waiting < 1_000_000:
            waiting = await tunnel.send(bytes(100_000))
        assert await tunnel.send(b"") == waiting
        go.set()
        await tunnel.send(b"", end=True)
        await tunnel.reading
    assert int(tunnel.got) >= 1_000_000


@contextlib.asynccontextmanager
async def unread() -> AsyncIterator[tuple[asyncio.subprocess.Process, int]]:
    """A helper whose pipe nobody reads, and the reading end."""
    reading, writing = os.pipe()
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-S", "-c", BOOTSTRAP, stdin=asyncio.subprocess.PIPE, stdout=writing
        )
    finally:
        os.close(writing)
    assert process.stdin is not None
    try:
        process.stdin.write(bundle())
        yield process, reading
    finally:
        os.close(reading)
        process.stdin.close()
        await process.wait()


def take(pipe: int, final: int) -> int:
    """Reads everything up to the final frame of a request; how many bytes came for it."""
    with open(pipe, "rb", closefd=False) as file:
        file.read(len(GREETING))
        size = 0
        while True:
            head, body = LENGTHS.unpack(file.read(LENGTHS.size))
            header = json.loads(file.read(head))
            size += len(file.read(body))
            if header["id"] == final and "ok" in header:
                return size


async def test_a_server_is_read_only_as_fast_as_the_pipe_takes_it(path: Path) -> None:
    """The helper does not hoard: while nobody reads its pipe, the server's writing stops."""
    size = 64 << 20
    written = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal written
        while written < size:
            writer.write(bytes(1 << 16))
            await writer.drain()
            written += 1 << 16

    async with served(path, serve), unread() as (helper, pipe):
        assert helper.stdin is not None
        helper.stdin.write(pack({"id": 1, "op": "tunnel", "path": str(path), "window": 1 << 30}))
        still = -1
        while written > still or not written:
            still = written
            await asyncio.sleep(0.2)
        assert 0 < written < 8 << 20
        assert await asyncio.to_thread(take, pipe, 1) == size


async def test_a_server_is_read_only_as_far_as_the_near_side_has_taken_it(far: Far, path: Path) -> None:
    """All windows may be full: other requests are still answered, and each tunnel goes on as its client takes more."""
    size = 5 << 20

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(bytes(size))
        await writer.drain()

    async with served(path, serve):
        tunnels = [await Tunnel.to(far, path, 300_000) for _ in range(3)]
        await until(lambda: all(len(tunnel.got) >= 300_000 for tunnel in tunnels))
        await far.link.ask("ping")  # behind all that was under way
        full = [len(tunnel.got) for tunnel in tunnels]
        assert all(got < 300_000 + CHUNK for got in full)
        first, *others = tunnels
        taken = 0
        while not first.reading.done():
            await far.link.tell("took", to=first.request, count=len(first.got) - taken)
            taken = len(first.got)
            await asyncio.sleep(0)
        assert len(first.got) == size
        assert [len(tunnel.got) for tunnel in others] == full[1:]
        for tunnel in others:
            await tunnel.shut()
            await tunnel.reading
        await far.link.tell("took", to=first.request, count=1)  # too late, and no harm
        await far.link.ask("ping")


async def test_the_output_of_jobs_leaves_room_for_a_tunnel(far: Far, path: Path) -> None:
    """The pipe is full all the time; whoever writes a line into a tunnel gets the answer long before it is empty."""
    await far.run("a", "true")
    os.truncate(far.root / "jobs/a/stdout", KEPT)

    async def read_all() -> int:
        frames = far.link.follow("follow", job="a", offsets={})
        return sum([len(frame.body) async for frame in frames])

    async with served(path, echo):
        reading = [asyncio.create_task(read_all()) for _ in range(8)]
        tunnel = await Tunnel.to(far, path)
        for _ in range(3):
            before = len(tunnel.got)
            await tunnel.send(b"line")
            await until(lambda before=before: len(tunnel.got) == before + 4)
        assert not any(task.done() for task in reading)
        await tunnel.shut()
        assert await asyncio.gather(*reading) == [KEPT] * 8
