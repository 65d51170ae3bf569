"""A unix socket on a host, reached through the helper: a cockpit far away."""

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from kpd.hosts.forward import forward
from kpd.hosts.host import Host
from tests.support.hosts.local import helper_pid, host, until
from tests.support.hosts.ssh import host_by, ssh_to
from tests.support.hosts.sshd import sshd

__all__ = ["host"]

LARGE = os.urandom(3 << 20)


@contextlib.asynccontextmanager
async def shouting(path: Path) -> AsyncIterator[Path]:
    """A server that answers all it has read, in capitals, once the client has ended."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write((await reader.read(-1)).upper())
        writer.close()

    server = await asyncio.start_unix_server(serve, str(path))
    try:
        yield path
    finally:
        server.close()


async def ask(path: Path, data: bytes) -> bytes:
    reader, writer = await asyncio.open_unix_connection(str(path))
    writer.write(data)
    writer.write_eof()
    answer = await reader.read(-1)
    writer.close()
    return answer


async def test_many_clients_and_much_data(host: Host, tmp_path: Path) -> None:
    here = tmp_path / "here"
    async with shouting(tmp_path / "far") as far, forward(host, here, str(far)):
        assert here.stat().st_mode & 0o077 == 0
        answers = await asyncio.gather(*(ask(here, b"abc%d" % n) for n in range(20)), ask(here, LARGE))
        assert answers == [b"ABC%d" % n for n in range(20)] + [LARGE.upper()]
    assert not here.exists()


async def test_a_client_that_does_not_read_stops_the_server(host: Host, tmp_path: Path) -> None:
    """What it does not take stays with the server: neither the helper nor we hoard it, and all else goes on."""
    size = 64 << 20
    written = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal written
        for _ in range(size >> 16):
            writer.write(bytes(1 << 16))
            await writer.drain()
            written += 1 << 16
        writer.close()

    server = await asyncio.start_unix_server(serve, str(tmp_path / "far"))
    async with forward(host, tmp_path / "here", str(tmp_path / "far")):
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(30)
            client.connect(str(tmp_path / "here"))
            still = -1
            while written > still or not written:
                still = written
                await asyncio.sleep(0.2)
                assert await host.running() == []
            assert 0 < written < 4 << 20
            got = 0
            while data := await asyncio.to_thread(client.recv, 1 << 20):
                got += len(data)
            assert got == size
    server.close()


async def test_nobody_listens_there(host: Host, tmp_path: Path) -> None:
    async with forward(host, tmp_path / "here", str(tmp_path / "nobody")):
        assert await ask(tmp_path / "here", b"x") == b""


async def test_a_lost_link_ends_the_connection_and_the_next_one_takes_the_next_link(host: Host, tmp_path: Path) -> None:
    async with shouting(tmp_path / "far") as far, forward(host, tmp_path / "here", str(far)):
        reader, writer = await asyncio.open_unix_connection(str(tmp_path / "here"))
        writer.write(b"half")
        await asyncio.sleep(0.05)
        os.kill(helper_pid(host), signal.SIGKILL)
        assert await reader.read(-1) == b""
        writer.close()
        await until(lambda: host.up)
        assert await ask(tmp_path / "here", b"again") == b"AGAIN"


async def test_a_taken_name_is_an_error(host: Host, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as taken:
        taken.bind(str(tmp_path / "here"))
        with pytest.raises(OSError, match="in use"):
            async with forward(host, tmp_path / "here", str(tmp_path / "far")):
                pass


async def test_over_ssh_with_one_session(tmp_path: Path) -> None:
    with sshd(tmp_path, MaxSessions=1, AllowStreamLocalForwarding="no") as server:
        async with (
            host_by(ssh_to(server), tmp_path / "host") as host,
            shouting(tmp_path / "far") as far,
            forward(host, tmp_path / "here", str(far)),
        ):
            assert await ask(tmp_path / "here", b"hello") == b"HELLO"
