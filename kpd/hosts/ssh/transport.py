"""The transport over SSH in this process, without an ssh program. Host keys are always verified."""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

from kpd.hosts.bundle import command
from kpd.hosts.errors import HostError, HostErrorKind, HostKey, UnknownHostKey
from kpd.hosts.ssh import connect, known_hosts
from kpd.hosts.ssh.connect import Arguments, Connection
from kpd.hosts.ssh.hop import Hop
from kpd.hosts.ssh.session import SshChannel
from kpd.workspace.address import Address

OPEN_S = 28.0  # for the whole way to the host, jump hosts included
HOP_S = 15.0  # for one host to answer and let us in, or to start a program
READ_S = 10.0  # for ssh's configuration to be read, with all programs that it runs
KEEPALIVE_S, KEEPALIVES = 5.0, 3  # a host that is frozen is noticed in 20 s


class Ssh:
    """A transport with asyncssh. `address` is what ssh takes.

    `accept_new` trusts the key of a host, or jump host, that nobody has seen before. `config_files` replace the user's
    and the system's ssh_config. A host silent for `keepalive_s` seconds is asked for a sign of life, and each hop has
    `patience_s` seconds to let us in. Raises ValueError for a text that is not an address.
    """

    kind: ClassVar[str] = "ssh"

    def __init__(
        self,
        address: str,
        accept_new: bool = False,
        python: str = "python3",
        compression: bool = False,
        config_files: Sequence[Path] | None = None,
        keepalive_s: float = KEEPALIVE_S,
        patience_s: float = HOP_S,
        enter: Sequence[str] = (),
    ) -> None:
        self.address = address
        self._target = Address.parse(address)
        self.accept_new = accept_new
        self.python = python
        self.enter = tuple(enter)
        self.compression = compression
        self.config_files = config_files
        self.patience_s = patience_s
        self._arguments: Arguments = {
            "connect_timeout": patience_s,
            "keepalive_interval": keepalive_s,
            "keepalive_count_max": KEEPALIVES,
        }
        self._offered: tuple[HostKey, Path | None] | None = None  # an unknown key, and the file that it would go into
        self._ways: set[contextlib.AsyncExitStack] = set()
        self._reading: DetachedThread[tuple[Hop, Arguments]] = DetachedThread()

    async def open(self) -> SshChannel:
        """Connect, and start the helper in one session. Raises HostError (unreachable, auth, host_key, config)."""
        line = command(self.python, self.enter)
        async with contextlib.AsyncExitStack() as way:
            try:
                async with asyncio.timeout(OPEN_S):
                    connection = await self._reach(self._target, None, (), way)
                    session = await connect.begin(self.address, connection, line, self.patience_s)
            except TimeoutError as err:
                raise HostError("unreachable", f"{self.address}: no connection within {OPEN_S:g} s") from err
            kept = way.pop_all()
        self._ways.add(kept)
        return SshChannel(session, partial(self._leave, kept))

    async def trust(self, key: HostKey) -> None:
        """Write the key that was refused last, as unknown, into known_hosts.

        Raises HostError: host_key if `key` is another one, config if the file cannot be written.
        """
        if self._offered is None or self._offered[0] != key:
            raise HostError("host_key", f"{self.address}: {key.host} has not just shown the key {key.fingerprint}")
        path = self._offered[1]
        if path is None:
            raise HostError("config", f"{self.address}: UserKnownHostsFile says that host keys are not to be saved")
        try:
            await asyncio.to_thread(known_hosts.add, path, key.host, key.key)
        except OSError as err:
            raise HostError("config", f"{path} cannot be written: {err.strerror}") from err
        self._offered = None

    async def close(self) -> None:
        """End every connection."""
        for way in tuple(self._ways):
            await self._leave(way)

    async def _leave(self, way: contextlib.AsyncExitStack) -> None:
        self._ways.discard(way)
        await way.aclose()

    async def _reach(
        self, address: Address, via: Connection | None, passed: tuple[str, ...], way: contextlib.AsyncExitStack
    ) -> Connection:
        """Connect to `address`, through `via` or else as ssh's configuration leads there.

        `way` will end the connection. `passed` are the hosts that led here. Raises HostError.
        """
        name = f"{address.host} (on the way to {passed[0]})" if passed else self.address
        if address.host in passed:
            raise HostError("config", f"{name}: ProxyJump leads in a loop: {', '.join((*passed, address.host))}")
        hop, arguments = await self._read(name, address)
        for jump in hop.jumps if via is None else ():
            via = await self._reach(jump, via, (*passed, address.host), way)
        try:
            connection = await connect.connect(hop, arguments, via, self.accept_new)
        except UnknownHostKey as err:
            self._offered = (err.offered, hop.learns)
            raise
        way.push_async_callback(connect.let_go, connection)
        return connection

    async def _read(self, name: str, address: Address) -> tuple[Hop, Arguments]:
        work = partial(connect.read, name, address, self.config_files, self.compression, self._arguments)
        hung: HostErrorKind = "config" if self._reading.busy else "unreachable"  # at first it may be the network
        try:
            return await self._reading.run(work, READ_S)
        except TimeoutError as err:
            raise HostError(hung, f"{name}: reading ~/.ssh/config hangs, perhaps in a Match exec") from err


T = TypeVar("T")


class DetachedThread(Generic[T]):
    """A thread for one piece of work at a time. The program does not wait for it at its end."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._running: Future[T] | None = None

    @property
    def busy(self) -> bool:
        return self._running is not None and not self._running.done()

    async def run(self, work: Callable[[], T], patience_s: float) -> T:
        """Run `work` in the thread, and return or raise what it does.

        Raises TimeoutError if it, or the work before it, hangs for `patience_s` seconds. Work that hangs is left alone,
        and no other begins before it has ended.
        """
        async with self._turn, asyncio.timeout(patience_s):
            if self._running is not None:
                # Its caller has had a TimeoutError, or was cancelled.
                await asyncio.gather(asyncio.wrap_future(self._running), return_exceptions=True)
            self._running = future = Future[T]()
            future.set_running_or_notify_cancel()  # from now on it cannot be cancelled, only left
            threading.Thread(target=_settle, args=(future, work), name="aside", daemon=True).start()
            return await asyncio.wrap_future(future)


def _settle(future: Future[T], work: Callable[[], T]) -> None:
    try:
        done = work()
    except BaseException as err:  # noqa: BLE001 - whatever it is, it is raised where the outcome is waited for
        future.set_exception(err)
    else:
        future.set_result(done)
