"""A host's table in config.toml as a transport. Each kind's module is imported when a host first needs it."""

import os
import re
import socket
from pathlib import Path, PurePosixPath

from kpd.hosts.host import Host
from kpd.hosts.link import Transport
from kpd.hosts.local import Local
from kpd.workspace.config import LOCAL, RECORDED, HostConfig
from kpd.workspace.paths import Workspace


def host_of(name: str, config: HostConfig, workspace: Workspace) -> Host:
    """The host, not connected yet. Jobs and content of this workspace stay apart from those of others on it."""
    holder = f"{os.environ.get('USER') or os.getuid()}@{socket.gethostname()}:{workspace.root}"
    return Host(
        name,
        _root(name, config, workspace),
        _transport(name, config, workspace),
        config.leases,
        holder,
        config.tolerate,
        cuda_home=config.cuda_home,
    )


def _root(name: str, config: HostConfig, workspace: Workspace) -> PurePosixPath:
    if config.transport == LOCAL and not config.root:
        return PurePosixPath(workspace.host_root)
    if config.transport == RECORDED and not config.root:
        return PurePosixPath(_recorded(name, workspace) / "host")
    own = re.sub(r"[^A-Za-z0-9._-]", "_", workspace.root.name)[:24]
    return PurePosixPath(config.root or "~/.cache/kpd") / f"{own}-{workspace.identity()}"


def _recorded(name: str, workspace: Workspace) -> Path:
    """What is kept of a recorded host."""
    return workspace.private / "recorded" / name


def _transport(name: str, config: HostConfig, workspace: Workspace) -> Transport:
    if config.transport == "ssh":
        from kpd.hosts.ssh.transport import Ssh

        return Ssh(config.address, config.accept_new, config.python, config.compression)
    if config.transport == "controlmaster":
        from kpd.hosts.openssh.master import ControlMaster

        folder = workspace.make_socket_folder().parent
        return ControlMaster(
            config.address, config.accept_new, config.python, config.control_path, config.compression, folder,
            owner=f"{workspace.root}:{name}",
        )  # fmt: skip
    if config.transport == RECORDED:
        from kpd.hosts.recorded.transport import Recorded

        return Recorded(name, Path(config.recording), _recorded(name, workspace) / "tapes")
    return Local()
