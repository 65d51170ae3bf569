"""What the tests of ssh share: a host behind a real sshd, and the proof that nothing is left behind."""

import contextlib
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path, PurePosixPath

import pytest

from kpd.hosts.errors import HostError
from kpd.hosts.host import Host
from kpd.hosts.ssh.transport import Ssh
from tests.support.hosts.local import processes_of, until
from tests.support.hosts.sshd import Sshd, sshd


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Sshd]:
    with sshd(tmp_path) as server:
        yield server


def ssh_to(server: Sshd, address: str = "", config: Path | None = None, python: str = sys.executable, **more) -> Ssh:
    """Under the very Python that runs the tests: what the PATH names may be a wrapper that takes its time."""
    return Ssh(address or server.name, python=python, config_files=[config or server.config], **more)


@contextlib.asynccontextmanager
async def host_by(transport: Ssh, root: Path) -> AsyncIterator[Host]:
    """A connected host; at the end none of its processes may still run."""
    host = Host("box", PurePosixPath(root), transport)
    try:
        await host.connect()
        yield host
    finally:
        await host.close()
        await transport.close()
        with contextlib.suppress(TimeoutError):
            await until(lambda: not processes_of(host.root))
        left = processes_of(host.root)
        for process in left:
            process.kill()
        assert left == []


async def refused(transport: Ssh) -> HostError:
    """What `open` raises."""
    with pytest.raises(HostError) as caught:
        await transport.open()
    return caught.value


async def lets_in(transport: Ssh) -> None:
    channel = await transport.open()
    await channel.close()
