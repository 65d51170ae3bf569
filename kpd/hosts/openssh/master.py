"""The transport over the OpenSSH client, for hardware keys, second factors, Kerberos and unusual ssh options.

The helper is one session in the connection of an OpenSSH *master*, found by its socket.
"""

import asyncio
import contextlib
import hashlib
import logging
import os
import shlex
import signal
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar
from weakref import WeakSet, WeakValueDictionary

from kpd.hosts.bundle import command
from kpd.hosts.child import ChildChannel, OutputFlood
from kpd.hosts.errors import HostError, HostKey, passes
from kpd.hosts.openssh.channel import MasterChannel
from kpd.hosts.openssh.failures import ManualCommands, explain
from kpd.workspace.address import Address

FAILED = 255  # ssh's exit status for its own failures; any other is the remote command's
ANSWER_S = 5.0  # for a master, which is a process on this machine, to answer or to end
NAMED_S = 8.0  # for a host to speak over the master that ssh's configuration names, before kpd opens its own
IDLE_S = 600  # without a session, after which a master that nobody closed ends by itself
# Whatever ~/.ssh/config says: nothing may ask, wait for a key, or be forwarded for the sake of a helper.
QUIET = (
    "-T", "-a", "-x", "-e", "none",
    "-o", "BatchMode=yes", "-o", "LogLevel=INFO", "-o", "PermitLocalCommand=no", "-o", "RemoteCommand=none",
    "-o", "ClearAllForwardings=yes",
)  # fmt: skip
# A connection that was lost without notice is closed after 15 to 20 seconds.
LASTING = (
    "-o", f"ControlPersist={IDLE_S}", "-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3",
    "-o", "ConnectTimeout=15",
)  # fmt: skip
# A session uses the master or fails: without this, ssh would connect by itself where the master refuses it.
RIDING = ("-o", "ControlMaster=no", "-o", "ProxyCommand=false")
WORD = "echo; "  # the host's shell prints a byte before the helper starts, so that ssh's failures differ from python's
log = logging.getLogger(__name__)


class _Own:
    """A master of kpd's own as this process sees it: the transports that use it now, and a lock for changing it.

    A host whose table in config.toml has changed has two transports for a moment, the one that closes and the one that
    opens.
    """

    def __init__(self) -> None:
        self.turn = asyncio.Lock()
        self.users: WeakSet[ControlMaster] = WeakSet()


_OWN: WeakValueDictionary[str, _Own] = WeakValueDictionary()  # by socket


class ControlMaster:
    """A transport that runs the helper over the operator's master, where there is one, else over one of kpd's own.

    The operator's is `control_path`, or the one that ssh's configuration names for `address`; kpd never ends it. kpd's
    own is found again by its socket in `folder` (short, private), so that it outlives a daemon that was killed; no two
    `owner`s share one. A person may open it for kpd, and kpd ends it all the same. `config_file` is read instead of
    ~/.ssh/config. Raises ValueError for a text that is not an address.
    """

    kind: ClassVar[str] = "controlmaster"

    def __init__(
        self,
        address: str,
        accept_new: bool,
        python: str,
        control_path: str,
        compression: bool,
        folder: Path,
        owner: str = "",
        config_file: Path | None = None,
        enter: Sequence[str] = (),
    ) -> None:
        self._address = address
        self._python, self._enter = python, enter
        self._control_path = control_path
        self._config = () if config_file is None else ("-F", str(config_file.absolute()))
        self._where = destination(address)
        self._lasting = (
            *LASTING,
            "-o", f"StrictHostKeyChecking={'accept-new' if accept_new else 'yes'}",
            "-o", f"Compression={'yes' if compression else 'no'}",
        )  # fmt: skip
        mark = "\0".join((owner, address, str(compression), *self._config))
        self._own = str(folder / f"ssh-{hashlib.sha256(os.fsencode(mark)).hexdigest()[:12]}")
        self._shared = _OWN.setdefault(self._own, _Own())

    async def open(self) -> MasterChannel:
        """Start python3 on the host. Raises HostError (unreachable, auth, host_key, no_python, config)."""
        async with self._shared.turn:
            said = await self._settings()
            if self._control_path:
                return await self._ride_given(self._control_path)
            named = said.get("controlpath", "none").replace("%", "%%")  # ssh would expand it a second time
            if named != "none" and await self._alive(named):
                try:
                    async with asyncio.timeout(NAMED_S):
                        return await self._ride(named)
                except (HostError, TimeoutError) as err:  # it has no room for a session, or its connection is broken
                    log.info("%s: the master at %s is of no use, so kpd opens its own: %r", self._address, named, err)
            if not await self._alive(self._own):
                await self._start(proxied=not said.keys().isdisjoint(("proxyjump", "proxycommand")))
            self._shared.users.add(self)
            return await self._ride(self._own)

    async def trust(self, key: HostKey) -> None:
        """Raise HostError (host_key): ssh itself decides which host keys it trusts."""
        remedy = f"run `{self._by_hand(self._own).login}` once in a terminal and compare the fingerprint"
        raise HostError("host_key", f"{self._address}: ssh itself decides which host keys it trusts", remedy)

    async def close(self) -> None:
        """End kpd's own master, whoever started it, if this transport has used it and no other one here does."""
        async with self._shared.turn:
            if self in self._shared.users:
                await self._leave()

    async def _settings(self) -> dict[str, str]:
        """Read ssh's configuration for this host, by lower-case names; of repeated ones the last.

        Raises HostError (config).
        """
        status, said = await self._run("-G")
        if status != 0:
            raise HostError("config", f"{self._address}: {said.strip() or 'ssh -G failed'}")
        return {name: value for name, _, value in (line.partition(" ") for line in said.splitlines())}

    async def _alive(self, socket: str) -> bool:
        try:
            async with asyncio.timeout(ANSWER_S):
                status, _ = await self._run("-S", socket, "-O", "check")
        except TimeoutError:
            return False
        return status == 0

    async def _start(self, proxied: bool) -> None:
        # A master that was killed leaves its socket; ssh would then go on without one.
        _remove(self._own)
        # No -f: this ssh goes to the background only once its socket is there and never without one.
        status, said = await self._run("-N", "-M", "-S", self._own, *QUIET, *self._lasting)
        if status != 0 and proxied:
            # A lasting master hides the output of programs that connect it; without one, the jump host's ssh is heard.
            _, more = await self._run("-S", "none", *QUIET, *self._lasting, line="true")
            said += more
        if status != 0:
            raise explain(self._address, said, self._by_hand(self._own))

    async def _leave(self) -> None:
        self._shared.users.discard(self)
        if not self._shared.users:
            await self._end()

    async def _end(self) -> None:
        try:
            reader, writer = await asyncio.open_unix_connection(self._own)
        except OSError:
            _remove(self._own)  # nobody listens
            return
        try:
            async with asyncio.timeout(ANSWER_S):
                await self._run("-S", self._own, "-O", "exit")
                with contextlib.suppress(ConnectionError):
                    await reader.read()  # until the master is gone, and this connection with it
        except TimeoutError:
            log.warning("%s: the ssh behind %s does not end", self._address, self._own)
        finally:
            writer.close()

    async def _give_up(self, socket: str) -> None:
        """Leave kpd's own master, which answers but gives no session, so that the next try opens another."""
        if socket == self._own:
            await self._leave()

    async def _ride_given(self, socket: str) -> MasterChannel:
        if not await self._alive(socket):
            remedy = f"open it in a terminal with `{self._by_hand(socket).master}`; kpd then uses it"
            raise HostError("unreachable", f"{self._address}: no master answers at {socket}", remedy)
        return await self._ride(socket)

    async def _ride(self, socket: str) -> MasterChannel:
        argv = self._argv("-S", socket, *QUIET, *RIDING, line=WORD + command(self._python, self._enter))
        channel = await ChildChannel.start(*argv, env=environment())
        try:
            spoken = await channel.reader.read(1)
        except BaseException as err:
            await self._give_up(socket)  # first, because it holds the child's pipes
            await channel.close()
            if isinstance(err, OutputFlood):
                raise err.error(self._address) from err
            raise
        if spoken:
            return MasterChannel(channel)
        words = await channel.close()
        await self._give_up(socket)
        if channel.status == FAILED:
            raise explain(self._address, words, self._by_hand(socket))
        said = f"{self._address}: the login shell ended with status {channel.status}"
        said = f"{said}: {words}" if words else said
        if passes(channel.status, words):
            raise HostError("unreachable", said)
        raise HostError("no_python", said, "let this user run commands on the host")

    def _argv(self, *options: str, line: str = "") -> tuple[str, ...]:
        return ("ssh", *self._config, *options, *self._where, *((line,) if line else ()))

    def _by_hand(self, socket: str) -> ManualCommands:
        where = tuple(word for word in self._where if word != "--")
        # Not -M, which would leave a socket that is there alone, even that of a master that was killed.
        options = ("-fN", "-o", "ControlMaster=auto", "-S", socket, "-o", "ServerAliveInterval=5")
        master = ("ssh", *self._config, *options, *where)
        return ManualCommands(shlex.join(("ssh", *self._config, *where)), shlex.join(master))

    async def _run(self, *options: str, line: str = "") -> tuple[int, str]:
        """Run ssh to its end, and return its status and output. If cancelled, its process group is killed.

        Its output goes to a file: an old ssh that stays in the background would hold the other end of a pipe.
        """
        with tempfile.TemporaryFile() as said:
            try:
                process = await asyncio.create_subprocess_exec(
                    *self._argv(*options, line=line), stdin=asyncio.subprocess.DEVNULL, stdout=said, stderr=said,
                    env=environment(), cwd="/", start_new_session=True,
                )  # fmt: skip
            except FileNotFoundError as err:
                remedy = 'install the OpenSSH client, or set transport = "ssh" for the host'
                raise HostError("config", f"{self._address}: there is no ssh program here", remedy) from err
            try:
                status = await process.wait()
            finally:
                if process.returncode is None:
                    with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS: all of them have just ended
                        os.killpg(process.pid, signal.SIGKILL)
                    await process.wait()
            said.seek(0)
            return status, said.read().decode(errors="replace")


def destination(address: str) -> tuple[str, ...]:
    """Return an address as arguments of ssh. Raises ValueError."""
    to = Address.parse(address)
    return *(("-p", str(to.port)) if to.port else ()), "--", f"{to.user}@{to.host}" if to.user else to.host


def environment() -> Mapping[str, str]:
    """Return kpd's own environment, changed for ssh.

    ssh then speaks English, sends no locale to the host, and starts no askpass program.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG"))}
    return {**kept, "SSH_ASKPASS_REQUIRE": "never"}


def _remove(socket: str) -> None:
    Path(socket).unlink(missing_ok=True)
