"""Forwards the socket of a daemon on another machine over kpd's own SSH, for `kpd attach --ssh`."""

import asyncio
import contextlib
import shlex
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from kpd.cli.exit_codes import INFRA, CliError
from kpd.hosts.errors import HostError, UnknownHostKey
from kpd.hosts.forward import forward
from kpd.hosts.host import Host
from kpd.hosts.link import Transport
from kpd.hosts.reconnect import LinkTiming
from kpd.model import codec
from kpd.wire import DaemonError
from kpd.workspace.address import Address
from kpd.workspace.config import Config, load_config
from kpd.workspace.paths import Workspace, temporary_for_sockets
from kpd.workspace.strict import ConfigError

# A dead link is noticed within the sum of the first two: a person is watching its output.
TIMING = LinkTiming(heartbeat_s=2.0, patience_s=4.0, most_s=5.0)
ROOT = PurePosixPath("~/.cache/kpd/attach")
FIND_S = 30.0
LINKED_S = 5.0  # how long one try to connect waits for the link


@dataclass(frozen=True, slots=True)
class RemoteSearch:
    """The answer of `remote_search`. `root` is empty without a workspace, `socket` without a daemon that listens.

    `start` is where the search began, `config` the text of config.toml, `running` the workspaces with a daemon.
    """

    start: str
    root: str
    socket: str
    config: str
    running: tuple[str, ...]


class RemoteDaemon:
    """A workspace on `host`; its daemon's socket is at `socket` here for as long as `remote_daemon` lasts.

    `config` is its config.toml; where that is wrong, `complaint` says why, and the defaults apply.
    """

    def __init__(self, host: Host, address: str, found: RemoteSearch, folder: Path) -> None:
        self.root = found.root
        self.config, self.complaint = _config(found)
        self.name = f"{PurePosixPath(found.root).name}@{Address.parse(address).host}"
        self.socket = folder / "s"
        self._host = host
        self._address = address
        self._refused: HostError | None = None

    def broken(self, err: HostError) -> None:
        """Note that a connection could not be forwarded."""
        self._refused = err

    async def linked(self) -> None:
        """Wait a short while for the link. Raises DaemonError that says what is wrong with it."""
        self._refused = None
        try:
            async with asyncio.timeout(LINKED_S):
                await self._host.linked()
        except TimeoutError as err:
            raise self._down() from err
        except HostError as err:
            raise self._down(err) from err

    def explain(self, err: DaemonError) -> DaemonError:
        """Return the error that an end of the connection means for a person on this machine."""
        if not self._host.up:
            return self._down()
        if self._refused is not None and self._refused.kind in ("not_found", "host"):
            remedy = start_hint(self._address, self.root)
            return DaemonError("no_daemon", f"no daemon runs for {self.root} on {self._address}", remedy)
        return DaemonError(err.code, err.message, err.remedy and f"on {self._address}: {err.remedy}")

    def _down(self, err: HostError | None = None) -> DaemonError:
        trouble = err or self._host.trouble
        if trouble is None:
            return DaemonError("infra", f"{self._address}: connecting again", "nothing is lost: kpd keeps trying")
        return DaemonError("infra", trouble.message, trouble.remedy)


def _config(found: RemoteSearch) -> tuple[Config, str]:
    with tempfile.TemporaryDirectory(prefix="kpd-") as folder:
        copy = Workspace(Path(folder))
        copy.config.write_text(found.config)
        try:
            return load_config(copy), ""
        except ConfigError as err:
            return Config(), f"{found.root}/config.toml: {err.what}; {err.remedy}"


@contextlib.asynccontextmanager
async def remote_daemon(
    address: str, where: str | None, accept_new: bool = False, transport: Transport | None = None
) -> AsyncIterator[RemoteDaemon]:
    """Run the block with the workspace `where` on the machine at `address`, over a link that lasts until its end.

    Raises CliError where the login fails, or where there is no workspace or no daemon. `transport` replaces SSH.
    """
    from kpd.hosts.ssh.transport import Ssh

    try:
        Address.parse(address)
        transport = transport or Ssh(address, accept_new)
    except ValueError as err:
        raise CliError(str(err), "write --ssh [user@]host[:port], or an alias of ~/.ssh/config") from err
    host = Host(address, ROOT, transport, pace=TIMING)
    try:
        host.start()
        await host.tried(0)  # only the first trouble is reported to the person; after later ones the link tries again
        if host.trouble is not None:
            raise login_error(address, host.trouble)
        found = await find_daemon(host, address, where)
        with tempfile.TemporaryDirectory(prefix="kpd-attach-", dir=temporary_for_sockets()) as folder:
            far = RemoteDaemon(host, address, found, Path(folder))
            async with forward(host, far.socket, found.socket, far.broken):
                yield far
    finally:
        await host.close()


async def find_daemon(host: Host, address: str, where: str | None) -> RemoteSearch:
    """Ask the remote machine where the workspace is and where its daemon listens. Raises CliError."""
    source = Path(__file__).with_name("remote_search.py").read_text()
    script = f"exec python3 -I -S - {shlex.quote(where or '')} <<'KPD_FAR_END'\n{source}\nKPD_FAR_END\n"
    try:
        ran = await host.run(script, FIND_S)
        found = codec.decode(ran.stdout, RemoteSearch)
    except HostError as err:
        raise login_error(address, err) from err
    except codec.CodecError as err:
        said = ran.stderr.decode(errors="replace").strip().splitlines()[-1:] or [f"it ended with {ran.rc}"]
        raise CliError(f"cannot look for the workspace on {address}: {said[0]}", code=INFRA) from err
    if not found.root:
        remedy = f"kpd attach --ssh {address} -w DIR names another"
        if found.running:
            remedy += f"; daemons run there for {', '.join(found.running)}"
        else:
            remedy += ", kpd init DIR makes one there"
        raise CliError(f"no kpd workspace at {found.start} on {address}, or above it", remedy, INFRA)
    if not found.socket:
        raise CliError(f"no daemon runs for {found.root} on {address}", start_hint(address, found.root), INFRA)
    return found


def login_error(address: str, err: HostError) -> CliError:
    """Build the error of a failed login, with what helps for a machine that no config.toml lists."""
    from kpd.hosts.ssh.hop import OnlyOpenSsh

    remedy = err.remedy
    if isinstance(err, UnknownHostKey):
        remedy = (
            "compare it with what ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub prints there; if they are the same, "
            f"kpd attach --ssh {address} --accept-new keeps it, and so does {shlex.join(ssh(address))}"
        )
    elif err.kind == "unreachable":
        remedy = "check the address, the network and that the machine is up"
    elif isinstance(err, OnlyOpenSsh):
        remedy = f"kpd attach logs in with a key and asks for nothing: ssh-copy-id {shlex.join(ssh(address)[1:])}"
    return CliError(err.message, remedy, INFRA)


def start_hint(address: str, root: str) -> str:
    """Say how to start the daemon from here: `kpd start` there also opens a UI, which can be left."""
    line = shlex.join([*ssh(address, "-t"), f"kpd -w {shlex.quote(root)} start"])
    return f"start it with {line} and leave the UI there with q"


def ssh(address: str, *options: str) -> list[str]:
    """Return the command line of the OpenSSH client for the same machine."""
    to = Address.parse(address)
    port = ["-p", str(to.port)] if to.port else []
    return ["ssh", *options, *port, f"{to.user}@{to.host}" if to.user else to.host]
