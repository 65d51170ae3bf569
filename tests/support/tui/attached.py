"""What a UI hears of a daemon, by the UI's own `follow`."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from kpd.messages import Push
from kpd.model.events import Event
from kpd.model.state import State
from tests.support.hosts.local import until
from tui.model.feed import Connect, Feed, LinkState, follow


class Watched:
    """`links` are the changes of the link, `events` the numbers of the events, `states` the snapshots."""

    def __init__(self, connect: Connect) -> None:
        self.links: list[LinkState] = []
        self.events: list[int] = []
        self.states: list[State] = []
        self.seq = 0
        self._connect = connect
        self._feed: Feed | None = None

    @property
    def link(self) -> LinkState:
        return self.links[-1] if self.links else LinkState()

    @property
    def feed(self) -> Feed:
        assert self._feed is not None, self.link
        return self._feed

    async def is_down(self, *words: str) -> None:
        await until(lambda: self.link.state == "down" and all(word in str(self.link) for word in words))

    async def is_up(self) -> None:
        await until(lambda: self.link.state == "up")

    @contextlib.asynccontextmanager
    async def going(self) -> AsyncIterator["Watched"]:
        """From the first state on."""
        following = asyncio.create_task(follow(self._connect, lambda: self.seq, self._hear, self._linked))
        try:
            await until(lambda: self.states)
            yield self
        finally:
            following.cancel()
            await asyncio.wait([following])

    def _hear(self, message: Push) -> None:
        if isinstance(message, State):
            self.states.append(message)
            self.seq = message.seq
        elif isinstance(message, Event):
            self.events.append(message.seq)
            self.seq = message.seq

    def _linked(self, link: LinkState, feed: Feed | None) -> None:
        self.links.append(link)
        self._feed = feed
