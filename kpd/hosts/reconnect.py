"""Keeps one link to a host for as long as the daemon lives: connects, watches, and reconnects."""

import asyncio
import contextlib
import logging
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from kpd.hosts.errors import LOST, HostError
from kpd.hosts.link import HEARTBEAT_S, PATIENCE_S, Allocator, Frame, Link, Transport

FIRST_S, GROWTH = 1.0, 1.5  # the pause after a failed try, and how it grows
SELDOM_S: dict[str, float | None] = {"auth": 300.0, "host_key": None}  # too many failed logins get a client banned
STEADY_S = 0.25  # after the loss of a link that lasted this long, the first try comes at once
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LinkTiming:
    """The times of a link, in seconds.

    `connect_s` is the limit for a host to answer, let us in and start the helper; `heartbeat_s` and `patience_s` are
    those of a `Link`; `most_s` is the longest pause between two tries.
    """

    connect_s: float = 30.0
    heartbeat_s: float = HEARTBEAT_S
    patience_s: float = PATIENCE_S
    most_s: float = 60.0


USUAL = LinkTiming()


class Reconnector:
    """The one link to a host, made again whenever it is lost.

    `greet` makes a new link ready for use; `changed` is called whenever the link comes up or goes down. While it is
    down, `trouble` says why. Connecting is tried again without end: soon after errors that time may heal
    (`errors.LOST`), seldom after others, and after trouble with the host's key only when `retry_now` is called.

    Callers wait for a link that has been up before. If it has never been up, and its trouble needs a person, they get
    that as an error.
    """

    def __init__(
        self,
        name: str,
        transport: Transport,
        greet: Callable[[Link], Awaitable[None]],
        pace: LinkTiming = USUAL,
    ) -> None:
        self.name = name
        self.transport = transport
        self.trouble: HostError | None = None
        self.tries = 0  # tries that have ended, well or not
        self._was_up = False
        self.changed: Callable[[], None] = lambda: None
        self._greet = greet
        self._pace = pace
        self._link: Link | None = None
        self._keeping: asyncio.Task[None] | None = None
        self._leaving = asyncio.Lock()  # held while the link is closed: what is asked for then must not be given back
        self._news = asyncio.Event()
        self._nudged = asyncio.Event()

    @property
    def up(self) -> bool:
        return self._link is not None and self._link.up

    @property
    def kept(self) -> bool:
        return self._keeping is not None

    @property
    def rtt_s(self) -> float | None:
        return self._link.rtt_s if self._link is not None else None

    def start(self) -> None:
        """Keep a link from now on."""
        if self._keeping is None:
            self._keeping = asyncio.create_task(self._keep(), name=f"keeps the link to {self.name}")

    async def renew(self) -> None:
        """Drop the link, so that the next one begins afresh."""
        if self._link is not None:
            await self._link.close()

    def retry_now(self) -> None:
        """Try again now, whatever went wrong before."""
        self.trouble = None
        self._nudged.set()

    async def close(self) -> None:
        """Close the link; the host's jobs go on."""
        keeping, self._keeping = self._keeping, None
        async with self._leaving:
            if keeping is not None:
                keeping.cancel()
                await asyncio.wait([keeping])
            link, self._link = self._link, None
            if link is not None:
                await link.close()
            await self.transport.close()
            self.trouble = None
            self._wake()

    async def linked(self) -> Link:
        """Return the link, once it is up. Raises HostError for errors that need a person."""
        while True:
            if self._link is not None and self._link.up:
                return self._link
            if self._keeping is None:
                raise HostError("unreachable", f"{self.name}: not connected", "connect to the host first")
            if self.trouble is not None and self._hopeless(self.trouble):
                raise self.trouble.again()
            await self._news.wait()

    async def tried(self, before: int) -> None:
        """Wait until more than `before` tries have ended, or nobody tries any more."""
        while self.tries <= before and self._keeping is not None:
            await self._news.wait()

    async def ask(self, op: str, body: bytes = b"", **fields: Any) -> Frame:
        """Send a request and return its answer; after a lost link send it again. Raises HostError."""
        while True:
            link = await self.linked()
            try:
                return await link.ask(op, body, **fields)
            except HostError as err:
                if err.kind not in LOST:
                    raise

    async def _keep(self) -> None:
        async with self._leaving:  # first lets a close under way give back what the last link was for
            pause = FIRST_S
        while True:
            self._nudged.clear()
            try:
                link = await self._connected()
            except HostError as err:
                self.tries += 1
                self._tell(err)
                if err.again_s is not None:
                    await self._rest(err.again_s)
                    continue
                await self._rest(pause if err.kind in LOST else SELDOM_S.get(err.kind, USUAL.most_s))
                pause = min(pause * GROWTH, self._pace.most_s)
                continue
            since = time.monotonic()
            self._link = link
            self._was_up = True
            self.tries += 1
            self._tell(None)
            await link.broken.wait()
            self._link = None
            self._tell(link.error)
            await link.close()
            if time.monotonic() - since >= STEADY_S:
                pause = FIRST_S
            else:
                await self._rest(pause)
                pause = min(pause * GROWTH, self._pace.most_s)

    async def _connected(self) -> Link:
        """Connect. Raises HostError for every error: any other would end the keeping of the link unnoticed."""
        try:
            async with asyncio.timeout(self._pace.connect_s):
                link = Link(self.name, await self.transport.open(), self._pace.heartbeat_s, self._pace.patience_s)
                try:
                    await self._started(link)
                    await self._greet(link)
                except BaseException:
                    await link.close()
                    raise
        except HostError:
            raise
        except TimeoutError as err:
            raise HostError("unreachable", f"{self.name}: no answer within {self._pace.connect_s:g} s") from err
        except Exception as err:
            log.exception("%s: connecting failed in a way that kpd does not know", self.name)
            raise HostError("host", f"{self.name}: connecting failed: {err!r}", "see the daemon's log") from err
        return link

    async def _started(self, link: Link) -> None:
        """Have the helper start. What a scheduler lends may end at that moment: its end says nothing of its Python."""
        try:
            await link.start()
        except HostError as err:
            if err.kind == "no_python" and isinstance(self.transport, Allocator):
                raise HostError("unreachable", err.message) from err
            raise

    async def _rest(self, seconds: float | None) -> None:
        """Wait about so many seconds (None: without end), or until `retry_now`.

        The time varies by 10 %, so that not all daemons come back at once.
        """
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(None if seconds is None else seconds * random.uniform(0.9, 1.1)):
                await self._nudged.wait()

    def _hopeless(self, trouble: HostError) -> bool:
        return trouble.kind == "host_key" or (trouble.kind not in LOST and not self._was_up)

    def _tell(self, trouble: HostError | None) -> None:
        self.trouble = trouble
        self._wake()
        self.changed()

    def _wake(self) -> None:
        """Wake everyone who waits for the link."""
        news, self._news = self._news, asyncio.Event()
        news.set()
