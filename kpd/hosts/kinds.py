"""Registers kpd's own transports; their libraries are imported when a host first needs them."""

from typing import TYPE_CHECKING

from kpd.workspace.paths import Workspace
from kpd.workspace.transports import TransportKind, needs_address

if TYPE_CHECKING:
    from kpd.hosts.link import Transport
    from kpd.workspace.config import HostConfig


def _local(name: str, host: "HostConfig", workspace: Workspace) -> "Transport":
    from kpd.hosts.local import Local

    return Local(host.python, enter=host.enter) if host.enter else Local()


def _ssh(name: str, host: "HostConfig", workspace: Workspace) -> "Transport":
    from kpd.hosts.ssh.transport import Ssh

    return Ssh(host.address, host.accept_new, host.python, host.compression, enter=host.enter)


def _controlmaster(name: str, host: "HostConfig", workspace: Workspace) -> "Transport":
    from kpd.hosts.openssh.master import ControlMaster

    folder = workspace.make_socket_folder().parent
    return ControlMaster(
        host.address, host.accept_new, host.python, host.control_path, host.compression, folder,
        owner=f"{workspace.root}:{name}", enter=host.enter,
    )  # fmt: skip


LOCAL = TransportKind(_local, here=True)
SSH = TransportKind(_ssh, check=needs_address)
CONTROLMASTER = TransportKind(_controlmaster, check=needs_address)
