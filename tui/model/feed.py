"""Receives messages from the daemon and sends commands to it; reconnects by itself."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from kpd.client import operator
from kpd.messages import Push
from kpd.subscription import Client, DaemonError
from kpd.wire import LiveOutput
from kpd.workspace.paths import WorkspaceError

FIRST_WAIT_S, LONGEST_WAIT_S = 0.5, 5.0


class Feed(Protocol):
    """One connection to a daemon; kpd.subscription.Client is one, and a recording could be another."""

    def messages(self, after: int = 0) -> AsyncIterator[Push]: ...

    async def query(self, what: str, **args: Any) -> Any: ...

    async def command(self, verb: str, **args: Any) -> Any: ...

    async def close(self) -> None: ...


Connect = Callable[[], Awaitable[Feed]]
"""Opens a connection. Raises DaemonError."""


@dataclass(frozen=True, slots=True)
class LinkState:
    """The state of the link to the daemon; where it is down, the reason and the remedy."""

    state: Literal["connecting", "up", "down"] = "connecting"
    message: str = ""
    remedy: str = ""


def dialling(
    socket: Callable[[], Path],
    read_only: bool = False,
    live: LiveOutput = "full",
    explain: Callable[[DaemonError], DaemonError] = lambda err: err,
) -> Connect:
    """Return a function that connects to the daemon, as the operator at this terminal.

    It calls `socket` for the path each time.
    """

    async def connect() -> Feed:
        try:
            client = Client(socket(), "tui", read_only, operator(), live, explain)
        except WorkspaceError as err:
            raise DaemonError("infra", err.message, err.remedy) from err
        try:
            await client.connect()
        except BaseException:
            await client.close()
            raise
        return client

    return connect


async def follow(
    connect: Connect,
    seen: Callable[[], int],
    hear: Callable[[Push], None],
    linked: Callable[[LinkState, Feed | None], None],
    first_wait: float = FIRST_WAIT_S,
) -> None:
    """Pass every message to `hear`, and reconnect for ever; `seen` returns the number of the last event.

    `linked` is called at each change of the link, with the feed that questions and commands may use meanwhile.
    """
    wait = first_wait
    while True:
        try:
            feed = await connect()
        except (DaemonError, OSError) as err:
            linked(_down(err), None)
            await asyncio.sleep(wait)
            wait = min(wait * 2, LONGEST_WAIT_S)
            continue
        try:
            ended: Exception = DaemonError("infra", "the daemon has closed the connection", "kpd start")
            try:
                linked(LinkState("up"), feed)
                async for message in feed.messages(seen()):
                    wait = first_wait
                    hear(message)
            except (DaemonError, OSError) as err:
                ended = err
            linked(_down(ended), None)  # before closing: to disconnect from a frozen daemon takes long
        finally:
            await feed.close()
        await asyncio.sleep(wait)


def _down(err: Exception) -> LinkState:
    if isinstance(err, DaemonError):
        return LinkState("down", err.message, err.remedy or "kpd start")
    return LinkState("down", str(err), "kpd start")
