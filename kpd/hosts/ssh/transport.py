"""The transport over SSH in this process, without an ssh program. Host keys are always verified."""

import contextlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar

from kpd.hosts.bundle import command
from kpd.hosts.errors import HostKey
from kpd.hosts.ssh.session import SshChannel
from kpd.hosts.ssh.shared import Logins, LoginSettings, logins

HOP_S = 15.0  # for one host to answer and let us in, or to start a program
KEEPALIVE_S = 5.0  # a host that is frozen is noticed in 20 s


class Ssh:
    """A transport with asyncssh, each channel of which is a session of a connection that others may use, too.

    `python` and `enter` start the helper; the rest is that of `LoginSettings`. Raises ValueError for a text that is not
    an address.
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
        files = None if config_files is None else tuple(config_files)
        self._settings = LoginSettings(address, accept_new, compression, files, keepalive_s, patience_s)
        self._logins: Logins | None = None
        self._line = command(python, tuple(enter))
        self._ways: set[contextlib.AsyncExitStack] = set()

    async def open(self) -> SshChannel:
        """Start the helper in one session. Raises HostError (unreachable, auth, host_key, config)."""
        async with contextlib.AsyncExitStack() as way:
            session = await self._shared().begin(self._line, way)
            kept = way.pop_all()
        self._ways.add(kept)
        return SshChannel(session, partial(self._leave, kept))

    async def trust(self, key: HostKey) -> None:
        """Write the key that was refused last, as unknown, into known_hosts.

        Raises HostError: host_key if `key` is another one, config if the file cannot be written.
        """
        await self._shared().trust(key)

    def _shared(self) -> Logins:
        """Return the connections that it shares in the running event loop, and keep them."""
        self._logins = logins(self._settings)
        return self._logins

    async def close(self) -> None:
        """End every channel of this transport, and each connection that then carries none."""
        for way in tuple(self._ways):
            await self._leave(way)

    async def _leave(self, way: contextlib.AsyncExitStack) -> None:
        self._ways.discard(way)
        await way.aclose()
