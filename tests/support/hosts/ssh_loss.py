"""A connection over SSH that is lost."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from tests.support.hosts.slow_pipe import Proxy, proxy
from tests.support.hosts.sshd import Sshd, ssh_config

GUARD_S = 30.0  # so that what waits for ever fails


@contextlib.asynccontextmanager
async def proxied(server: Sshd, tmp_path: Path) -> AsyncIterator[tuple[Proxy, Path]]:
    """The network to the server, in our hands, and the ssh_config that leads through it."""
    async with proxy(server.port) as network:
        options = {"Port": network.port, "HostKeyAlias": "box"}
        server.known_hosts.write_text(f"box {server.host_key_pub}\n")
        yield network, ssh_config(tmp_path / "config", server, box=options)
