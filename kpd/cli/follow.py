"""The event log, read to its end and then followed as it grows."""

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

from kpd.cli.ask import query
from kpd.model import codec
from kpd.model.events import Event
from kpd.model.nouns import State
from kpd.subscription import Client
from kpd.workspace.paths import Workspace

PAGE = 1000
SILENCE_S = 60.0
"""Nobody looks at this as at a screen: a daemon that a loaded machine keeps from answering is waited for."""


def event_of(entry: dict[str, Any]) -> Event:
    """An event as answers carry it. Raises CodecError when a newer kpd wrote it."""
    return Event(entry["seq"], entry["at"], codec.fact_from(entry["kind"], json.dumps(entry["body"])))


def recorded(ws: Workspace, run: str | None = None, after: int = 0) -> Iterator[Event]:
    """Events in the log, oldest first, of one run if given. Raises DaemonError."""
    while True:
        page = query(ws, "events", after=after, limit=PAGE, **({"run": run} if run else {}))
        yield from map(event_of, page)
        if len(page) < PAGE:
            return
        after = page[-1]["seq"]


async def follow(ws: Workspace, after: int) -> AsyncIterator[Event]:
    """Every event after `after`, then each new one; never ends by itself. Raises DaemonError."""
    async with Client(ws.socket, "cli", read_only=True, live="none", silence_s=SILENCE_S) as client:
        async for message in client.messages(after):
            if isinstance(message, State):
                # Too far behind to be sent the events one by one: they are read from the log.
                while after < message.seq:
                    for entry in await client.query("events", after=after, limit=PAGE):
                        yield event_of(entry)
                        after = entry["seq"]
            elif isinstance(message, Event) and message.seq > after:
                yield message
                after = message.seq
