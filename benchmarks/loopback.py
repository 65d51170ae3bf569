"""This machine as a host behind SSH: an SSH server on its own loopback, so neither sshd nor an account is needed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path, PurePosixPath

import asyncssh

from kpd.hosts.host import Host
from kpd.hosts.ssh.transport import Ssh

ALIAS = "gpu"
"""What the server is called in the ssh configuration that `served` writes."""


@asynccontextmanager
async def served(scratch: Path) -> AsyncIterator[Path]:
    """The server with throw-away keys, and the ssh configuration that leads to it as `ALIAS`."""
    server_key, client_key = (asyncssh.generate_private_key("ssh-ed25519") for _ in range(2))
    (scratch / "key").write_bytes(client_key.export_private_key())
    (scratch / "key").chmod(0o600)

    async def serve(process: asyncssh.SSHServerProcess[bytes]) -> None:
        pipe = asyncio.subprocess.PIPE
        child = await asyncio.create_subprocess_shell(process.command or "", stdin=pipe, stdout=pipe, stderr=pipe)
        await process.redirect(stdin=child.stdin, stdout=child.stdout, stderr=child.stderr)
        process.exit(await child.wait())
        await process.wait_closed()  # else what redirect() has left to await is awaited by nobody

    authorized = asyncssh.import_authorized_keys(client_key.export_public_key().decode())
    server = await asyncssh.listen(
        "127.0.0.1", 0, server_host_keys=[server_key], authorized_client_keys=authorized, process_factory=serve,
        encoding=None,
    )  # fmt: skip
    port = server.sockets[0].getsockname()[1]
    (scratch / "known_hosts").write_text(f"[127.0.0.1]:{port} {server_key.export_public_key().decode()}")
    (scratch / "config").write_text(
        f"Host {ALIAS}\n  HostName 127.0.0.1\n  Port {port}\n  User kpd\n  IdentityFile {scratch}/key\n"
        f"  UserKnownHostsFile {scratch}/known_hosts\n"
    )
    try:
        yield scratch / "config"
    finally:
        server.close()
        await server.wait_closed()


@asynccontextmanager
async def reached(scratch: Path) -> AsyncIterator[Host]:
    """This machine through that server."""
    async with served(scratch) as config:
        host = Host(ALIAS, PurePosixPath(scratch / "host"), Ssh(ALIAS, config_files=[config]))
        host.leases = str(scratch / "leases")
        await host.connect()
        try:
            yield host
        finally:
            await host.close()
