"""Links that break, hosts that fall silent, and servers that behave as no sshd does."""

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path

import asyncssh
import pytest

from kpd.hosts.link import Link
from kpd.hosts.ssh.transport import Ssh
from tests.support.hosts.local import spec, until
from tests.support.hosts.ssh import box, host_by, refused, ssh_to
from tests.support.hosts.ssh_loss import GUARD_S, proxied
from tests.support.hosts.sshd import Sshd, make_key, ssh_config

__all__ = ["box"]


async def test_a_job_goes_on_when_the_server_falls(box: Sshd, tmp_path: Path) -> None:
    """All of its output comes, once."""
    transport = ssh_to(box)
    async with host_by(transport, tmp_path / "host") as host:
        begun = asyncio.Event()
        script = "for i in 1 2 3 4 5; do echo $i; sleep 0.2; done; cat"
        job = asyncio.create_task(host.job(spec("a", script, stdin=b"end"), lambda *_: begun.set()))
        await begun.wait()
        box.stop()
        await until(lambda: not host.up)
        box.start()
        host.retry_now()
        result = await job
        assert (result.rc, result.stdout) == (0, b"1\n2\n3\n4\n5\nend")


async def test_a_link_that_is_cut_breaks_with_an_os_error(box: Sshd, tmp_path: Path) -> None:
    async with proxied(box, tmp_path) as (network, config):
        channel = await ssh_to(box, config=config).open()
        link = Link("box", channel)
        await link.start()
        reading = asyncio.create_task(channel.reader.readexactly(1))
        network.cut()
        await link.broken.wait()
        assert link.error.kind == "helper_died"
        with pytest.raises(OSError):
            await channel.writer.drain()
        with pytest.raises(OSError):
            channel.writer.write(b"x")
        reading.cancel()
        await asyncio.wait([reading])
        await link.close()


async def test_a_host_that_stands_still_is_noticed(box: Sshd) -> None:
    """Its kernel takes what we send, and nothing comes back."""
    channel = await ssh_to(box, keepalive_s=0.1).open()
    stopped = box.sessions()
    for process in stopped:
        process.send_signal(signal.SIGSTOP)
    with pytest.raises(OSError, match="keepalive"):
        async with asyncio.timeout(GUARD_S):
            await channel.reader.readexactly(1)
    await channel.close()
    for process in stopped:
        process.send_signal(signal.SIGCONT)


async def test_closing_the_transport_closes_its_channels(box: Sshd) -> None:
    transport = ssh_to(box)
    channels = [await transport.open(), await transport.open()]
    await transport.close()
    await until(lambda: not box.sessions())
    assert [await channel.close() for channel in channels] == ["", ""]


async def test_a_port_that_nobody_serves(box: Sshd) -> None:
    box.stop()
    error = await refused(ssh_to(box))
    assert error.kind == "unreachable" and f"127.0.0.1 port {box.port}: Connection refused" in error.message


Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], object]


async def told_by(handler: Handler, tmp_path: Path) -> str:
    """What is said about a server that is no ssh server; the error is one that time may heal."""
    server = await asyncio.start_server(handler, "127.0.0.1", 0)
    options = {"HostName": "127.0.0.1", "Port": server.sockets[0].getsockname()[1]}
    path = ssh_config(tmp_path / "config", box=options)
    async with server:
        error = await refused(Ssh("box", config_files=[path], patience_s=0.5))
    assert error.kind == "unreachable"
    return error.message


async def test_a_server_that_never_answers(tmp_path: Path) -> None:
    gone = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(1000):
            pass
        writer.close()
        gone.set()

    assert "does not answer" in await told_by(silent, tmp_path)
    await gone.wait()


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"SSH-1.5-x\r\n",
        b"\xff" * 100_000,
        b"SSH-2.0-x\r\n" + bytes(100),
        b"SSH-2.0-x\r\n" + b"\0\0\0\x0c\x06\x14" + bytes(10),
        b"SSH-2.0-x\r\n" + b"\0\0\1\0\4\x14" + bytes(16) + b"\0\0\0\2\xff\xfe" + bytes(300),
    ],
    ids=["nothing", "http", "ssh-1", "noise", "zeros", "short", "not-ascii"],
)
async def test_a_server_that_speaks_something_else(said: bytes, tmp_path: Path) -> None:
    def other(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(said)
        writer.close()

    assert (await told_by(other, tmp_path)).startswith("box: 127.0.0.1 port ")


class Odd(asyncssh.SSHServer):
    """Lets everybody in. What happens then is up to the test."""

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self.connection = conn

    def begin_auth(self, username: str) -> bool:
        return False


class ClosesAtOnce(Odd):
    def auth_completed(self) -> None:
        self.connection.abort()


class SaysGoodbye(Odd):
    def begin_auth(self, username: str) -> bool:
        self.connection.disconnect(asyncssh.DISC_BY_APPLICATION, "\x1b[31mgo\raway\n" + "x" * 1000)
        return True


class ShutsDown(Odd):
    """As with pam_nologin, it says so and lets nobody in."""

    def begin_auth(self, username: str) -> bool:
        self.connection.send_auth_banner("System is going down. Unprivileged users are not permitted to log in.\n")
        return True

    def public_key_auth_supported(self) -> bool:
        return True


class RefusesSessions(Odd):
    def session_requested(self) -> bool:
        return False


class NeverOpensSessions(Odd):
    def session_requested(self) -> object:
        async def never() -> asyncssh.SSHServerSession:
            await asyncio.Event().wait()
            raise AssertionError

        return never()


class RefusesPrograms(Odd):
    def session_requested(self) -> asyncssh.SSHServerSession:
        return asyncssh.SSHServerSession()


@pytest.mark.parametrize(
    ("kind_of_server", "kind", "says"),
    [
        (ClosesAtOnce, "unreachable", "the connection ends"),
        (SaysGoodbye, "unreachable", "[31mgo away xxx"),
        (ShutsDown, "unreachable", "lets nobody in now: System is going down"),
        (RefusesSessions, "config", "no program starts"),
        (NeverOpensSessions, "unreachable", "does not answer"),
        (RefusesPrograms, "config", "no program starts"),
    ],
)
async def test_a_server_that_lets_us_in_and_fails_then(
    kind_of_server: type[asyncssh.SSHServer], kind: str, says: str, tmp_path: Path
) -> None:
    key = make_key(tmp_path / "key")
    async with asyncssh.listen("127.0.0.1", 0, server_factory=kind_of_server, server_host_keys=[key]) as listener:
        port = listener.get_port()
        known = tmp_path / "known"
        known.write_text(f"[127.0.0.1]:{port} {key.with_suffix('.pub').read_text()}")
        options = {"HostName": "127.0.0.1", "Port": port, "User": "me", "UserKnownHostsFile": known}
        path = ssh_config(tmp_path / "config", box=options)
        error = await refused(Ssh("box", config_files=[path], patience_s=1.0))
        assert error.kind == kind and says in error.message, error
        assert error.message.isprintable() and len(error.message) < 400
