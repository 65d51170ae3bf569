"""What is known of a host over its link: whether it is up, which machine answers, how far its clock is off."""

import time
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Any

from kpd.hosts.content import Content
from kpd.hosts.errors import HostError, HostKey
from kpd.hosts.link import Frame, Link, Transport
from kpd.hosts.reconnect import LinkTiming, Reconnector

BOOT = "cat /proc/sys/kernel/random/boot_id 2>/dev/null || sysctl -n kern.boottime"
BOOT_S = 5.0


class LinkedHost:
    """A host's link, which is kept up, and what each new link tells: the machine's start, its clock, its folder.

    Requests made while it is down wait until it is up.
    """

    def __init__(self, name: str, root: PurePosixPath, transport: Transport, leases: str, pace: LinkTiming) -> None:
        self.name = name
        self.root = root
        self.leases = leases
        self.transport = transport
        self.skew_s = 0.0  # the host's clock minus ours
        self._rtt_s = 0.0
        self.machine = 0  # grows by one with every other machine, or restart, behind the link
        self.boot = b""  # what tells this start of the machine from others
        self._keeper = Reconnector(name, transport, self._greet, pace)
        self._content = Content(name, self._ask)

    @property
    def up(self) -> bool:
        return self._keeper.up

    @property
    def trouble(self) -> HostError | None:
        """Why the link is down, as far as that is known; None while it is up."""
        return self._keeper.trouble

    @property
    def rtt_s(self) -> float:
        """The last round trip to the helper, in seconds."""
        return self._keeper.rtt_s or self._rtt_s

    def on_link(self, told: Callable[[], None]) -> None:
        """Call `told` whenever the link comes up or goes down."""
        self._keeper.changed = told

    def start(self) -> None:
        """Keep a link from now on, without waiting for it."""
        self._keeper.start()

    async def connect(self) -> None:
        """Keep a link from now on, and wait until it is up. Raises HostError for errors that need a person.

        From then on `root` is the folder's resolved path on the host.
        """
        if self.trouble is not None:
            self.retry_now()
        self.start()
        await self._keeper.linked()

    @property
    def tries(self) -> int:
        """How many attempts to connect have ended, well or not."""
        return self._keeper.tries

    async def tried(self, before: int) -> None:
        """Wait until more than `before` attempts to connect have ended."""
        await self._keeper.tried(before)

    def retry_now(self) -> None:
        """Try to connect now, if the link is down."""
        if not self.up:
            self._keeper.retry_now()

    async def renew(self) -> None:
        """Drop the link: the next one begins afresh, with a new helper, and makes the host's folders again."""
        await self._keeper.renew()

    @property
    def kept(self) -> bool:
        """Whether the link is kept up, or tried for."""
        return self._keeper.kept

    async def release(self) -> None:
        """Drop the link, and give the host back if it is there on demand; `start` or `connect` asks for it again."""
        await self._keeper.close()

    async def trust(self, key: HostKey) -> None:
        """Accept `key` as this host's, on a person's word, and connect. Raises HostError (host_key)."""
        await self.transport.trust(key)
        self.retry_now()

    async def linked(self) -> Link:
        """Return the link, once it is up, for what is more than one request. Raises HostError."""
        return await self._keeper.linked()

    async def _ask(self, op: str, body: bytes = b"", **fields: Any) -> Frame:
        return await self._keeper.ask(op, body, **fields)

    async def _greet(self, link: Link) -> None:
        begun = time.time()
        hello = (await link.ask("hello", root=str(self.root), leases=self.leases)).fields
        self._rtt_s = time.time() - begun
        self.skew_s = hello["clock"] - (begun + self._rtt_s / 2)
        self.root = PurePosixPath(hello["root"])
        self._content.forget()
        boot = (await link.ask("run", BOOT.encode(), limit_s=BOOT_S)).body + hello.get("allocation", "").encode()
        if boot != self.boot:  # another allocation may have other devices, also on the same machine
            self.boot = boot
            self.machine += 1
