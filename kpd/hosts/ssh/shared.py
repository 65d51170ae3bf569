"""Shares connections: what is open to one address at a time is carried by few logins, made one after the other."""

import asyncio
import contextlib
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from weakref import WeakKeyDictionary, WeakValueDictionary

from kpd.hosts.errors import HostError, HostErrorKind, HostKey, UnknownHostKey
from kpd.hosts.ssh import connect, known_hosts
from kpd.hosts.ssh.connect import Arguments, ChannelRefused, Connection
from kpd.hosts.ssh.detached import DetachedThread
from kpd.hosts.ssh.hop import Hop
from kpd.hosts.ssh.session import Session
from kpd.workspace.address import Address

CHANNELS = 8  # of one connection; sshd allows 10 sessions where nobody has set MaxSessions
OPEN_S = 28.0  # for the whole way to the host, jump hosts included
READ_S = 10.0  # for ssh's configuration to be read, with all programs that it runs
KEEPALIVES = 3


@dataclass(frozen=True, slots=True)
class LoginSettings:
    """What a connection is made from: two that are equal in it may be one. Raises ValueError for no address.

    `address` is what ssh takes. `accept_new` trusts the key of a host, or jump host, that nobody has seen before.
    `config_files` replace the user's and the system's ssh_config. A host silent for `keepalive_s` seconds is asked for
    a sign of life, and each hop has `patience_s` seconds to let us in, or to start a program.
    """

    address: str
    accept_new: bool
    compression: bool
    config_files: tuple[Path, ...] | None
    keepalive_s: float
    patience_s: float

    def __post_init__(self) -> None:
        Address.parse(self.address)


class Login:
    """A connection to the host; `way` ends it, and those to the jump hosts before it."""

    def __init__(self, connection: Connection, way: contextlib.AsyncExitStack) -> None:
        self.connection = connection
        self.way = way
        self.carried = 0
        self.most = CHANNELS

    @property
    def has_room(self) -> bool:
        return self.carried < self.most and not self.connection.is_closed()


class Logins:
    """The connections of an event loop with the same settings."""

    def __init__(self, settings: LoginSettings) -> None:
        self.settings = settings
        self._target = Address.parse(settings.address)
        self._open: list[Login] = []
        self._turn = asyncio.Lock()  # one logs in at a time: sshd turns away whom it has too many of (MaxStartups)
        self._failure: HostError | None = None
        self._offered: tuple[HostKey, Path | None] | None = None  # an unknown key, and the file that it would go into
        self._reading: DetachedThread[tuple[Hop, Arguments]] = DetachedThread()

    async def begin(self, line: str, way: contextlib.AsyncExitStack) -> Session:
        """Start a session that runs the command line `line`; `way` will end it, and a connection of nobody else.

        Raises HostError (unreachable, auth, host_key, config).
        """
        address, patience_s = self.settings.address, self.settings.patience_s
        while True:
            login = await self._with_room()
            try:
                session = await connect.begin(address, login.connection, line, patience_s)
            except ChannelRefused:
                login.most = login.carried - 1  # the server's MaxSessions, perhaps
                alone = login.most == 0
                await self._leave(login)
                if alone:
                    raise
            except BaseException:
                login.most = 0  # whatever is wrong with it, the next try is not to meet it
                await self._leave(login)
                raise
            else:
                way.push_async_callback(self._leave, login)
                way.callback(session.end)
                return session

    async def trust(self, key: HostKey) -> None:
        """Write the key that was refused last, as unknown, into known_hosts.

        Raises HostError: host_key if `key` is another one, config if the file cannot be written.
        """
        address = self.settings.address
        if self._offered is None or self._offered[0] != key:
            raise HostError("host_key", f"{address}: {key.host} has not just shown the key {key.fingerprint}")
        path = self._offered[1]
        if path is None:
            raise HostError("config", f"{address}: UserKnownHostsFile says that host keys are not to be saved")
        try:
            await asyncio.to_thread(known_hosts.add, path, key.host, key.key)
        except OSError as err:
            raise HostError("config", f"{path} cannot be written: {err.strerror}") from err
        self._offered = None

    async def _with_room(self) -> Login:
        """Return a connection with room for one more channel, which is taken. Raises HostError.

        Who waits while another logs in shares what comes of it, also a failure: a host where many fail bans us.
        """
        failed_before = self._failure
        if (login := self._found()) is None:
            async with self._turn:
                if (login := self._found()) is None:
                    if self._failure is not None and self._failure is not failed_before:
                        raise self._failure.again()
                    login = await self._log_in()
        login.carried += 1
        return login

    def _found(self) -> Login | None:
        return next((login for login in self._open if login.has_room), None)

    async def _leave(self, login: Login) -> None:
        login.carried -= 1
        if login.carried == 0:
            self._open.remove(login)
            await login.way.aclose()

    async def _log_in(self) -> Login:
        try:
            async with contextlib.AsyncExitStack() as way:
                async with asyncio.timeout(OPEN_S):
                    connection = await self._reach(self._target, None, (), way)
                login = Login(connection, way.pop_all())
        except HostError as err:
            self._failure = err
            raise
        except TimeoutError as err:
            self._failure = HostError("unreachable", f"{self.settings.address}: no connection within {OPEN_S:g} s")
            raise self._failure from err
        self._open.append(login)
        return login

    async def _reach(
        self, address: Address, via: Connection | None, passed: tuple[str, ...], way: contextlib.AsyncExitStack
    ) -> Connection:
        """Connect to `address`, through `via` or else as ssh's configuration leads there.

        `way` will end the connection. `passed` are the hosts that led here. Raises HostError.
        """
        name = f"{address.host} (on the way to {passed[0]})" if passed else self.settings.address
        if address.host in passed:
            raise HostError("config", f"{name}: ProxyJump leads in a loop: {', '.join((*passed, address.host))}")
        hop, arguments = await self._read(name, address)
        for jump in hop.jumps if via is None else ():
            via = await self._reach(jump, via, (*passed, address.host), way)
        try:
            connection = await connect.connect(hop, arguments, via, self.settings.accept_new)
        except UnknownHostKey as err:
            self._offered = (err.offered, hop.learns)
            raise
        way.push_async_callback(connect.let_go, connection)
        return connection

    async def _read(self, name: str, address: Address) -> tuple[Hop, Arguments]:
        more: Arguments = {
            "connect_timeout": self.settings.patience_s,
            "keepalive_interval": self.settings.keepalive_s,
            "keepalive_count_max": KEEPALIVES,
        }
        work = partial(connect.read, name, address, self.settings.config_files, self.settings.compression, more)
        hung: HostErrorKind = "config" if self._reading.busy else "unreachable"  # at first it may be the network
        try:
            return await self._reading.run(work, READ_S)
        except TimeoutError as err:
            raise HostError(hung, f"{name}: reading ~/.ssh/config hangs, perhaps in a Match exec") from err


_LOGINS: WeakKeyDictionary[asyncio.AbstractEventLoop, WeakValueDictionary[LoginSettings, Logins]] = WeakKeyDictionary()


def logins(settings: LoginSettings) -> Logins:
    """Return those that have these settings, which all transports of the running event loop share.

    What a connection waits for is of its loop: one of a loop that has ended serves no other.
    """
    here = _LOGINS.setdefault(asyncio.get_running_loop(), WeakValueDictionary())
    found = here.get(settings) or Logins(settings)
    here[settings] = found
    return found
