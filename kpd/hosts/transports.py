"""Makes hosts from their tables in config.toml."""

import os
import re
import socket
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import cast

from kpd.hosts.channel import Channel
from kpd.hosts.errors import HostError, HostKey
from kpd.hosts.host import Host
from kpd.hosts.link import Transport
from kpd.workspace.entry_points import PlugInError
from kpd.workspace.host_tables import LOCAL, HostConfig
from kpd.workspace.paths import Workspace
from kpd.workspace.transports import TRANSPORTS, is_here


def host_of(name: str, config: HostConfig, workspace: Workspace) -> Host:
    """Make the host, not connected yet. This workspace's jobs and content there are apart from those of others."""
    holder = f"{os.environ.get('USER') or os.getuid()}@{socket.gethostname()}:{workspace.root}"
    return Host(
        name,
        _root(name, config, workspace),
        transport_of(name, config, workspace),
        config.leases,
        holder,
        config.tolerate,
        cuda_home=config.cuda_home,
        reads=config.reads,
        writes=config.writes,
    )


@dataclass(frozen=True, slots=True)
class UnusableTransport:
    """A stand-in for a transport that a plug-in should provide and does not: the host is down, for that reason."""

    kind: str
    error: HostError

    async def open(self) -> Channel:
        """Raise HostError (config)."""
        raise self.error.again()

    async def trust(self, key: HostKey) -> None:
        """Raise HostError (config)."""
        raise self.error.again()

    async def close(self) -> None:
        """Do nothing: nothing is held."""


def _root(name: str, config: HostConfig, workspace: Workspace) -> PurePosixPath:
    if not config.root and not config.enter and config.transport == LOCAL:
        return PurePosixPath(workspace.host_root)
    if not config.root and not config.enter and is_here(config.transport):
        return PurePosixPath(workspace.private / "hosts" / name)
    own = re.sub(r"[^A-Za-z0-9._-]", "_", workspace.root.name)[:24]
    among = name.removeprefix(config.table) if config.table else ""  # nodes may share a root, but never a job's folder
    return PurePosixPath(config.root or "~/.cache/kpd") / f"{own}-{workspace.identity()}{among}"


def transport_of(name: str, config: HostConfig, workspace: Workspace) -> Transport:
    """Make the transport of a host; one that is down where what it comes from is missing."""
    try:
        if (found := TRANSPORTS.get(config.transport)) is None:
            raise PlugInError(f"no transport {config.transport!r}", "install what it comes from")
    except PlugInError as err:
        return UnusableTransport(config.transport, HostError("config", f"{name}: {err.message}", err.remedy))
    return cast(Transport, found.make(name, config, workspace))
