"""Registers kpd's own transports; their libraries are imported when a host first needs them."""

from dataclasses import replace
from typing import TYPE_CHECKING

from kpd.hosts.slurm.keys import SlurmKeys
from kpd.workspace.paths import Workspace
from kpd.workspace.transports import BadKey, TransportKind, needs_address

if TYPE_CHECKING:
    from kpd.hosts.link import Transport
    from kpd.workspace.host_tables import HostConfig


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


def _slurm(name: str, host: "HostConfig", workspace: Workspace) -> "Transport":
    from kpd.hosts.gpu_hours import GpuHours, hours_file
    from kpd.hosts.slurm.lent_job import LentJob
    from kpd.hosts.slurm.transport import Slurm
    from kpd.hosts.transports import host_of, transport_of
    from kpd.workspace.config import load_config
    from kpd.workspace.host_tables import HostConfig

    keys: SlurmKeys = host.options
    login = load_config(workspace).hosts[keys.via] if keys.via else HostConfig()
    job_name = f"kpd-{workspace.identity()}-{name}"

    def attach(words: tuple[str, ...]) -> "Transport":
        return transport_of(name, replace(login, python=host.python, enter=(*login.enter, *words)), workspace)

    here = host_of(f"{name} ({keys.via or 'local'})", login, workspace)
    lent = LentJob(name, host.table or name, job_name, keys, here, host.python, GpuHours(hours_file(workspace)))
    return Slurm(lent, attach, host.enter)


def _check_slurm(host: "HostConfig") -> None:
    if host.python.startswith("~"):
        raise BadKey("python", "begins with ~", "give its whole path on the nodes")
    if host.address:
        raise BadKey("address", "is of no use", "write a table of its own for the login node, and name that in `via`")


LOCAL = TransportKind(_local, here=True)
SSH = TransportKind(_ssh, check=needs_address)
CONTROLMASTER = TransportKind(_controlmaster, check=needs_address)
SLURM = TransportKind(_slurm, keys=SlurmKeys, check=_check_slurm, on_demand=True)
