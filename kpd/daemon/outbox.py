"""Queues messages to one client without blocking the daemon: all in order, or fewer with low bandwidth."""

import asyncio
import contextlib
import re
from collections import deque

from kpd.messages import Dropped, Live, error_line, push_line
from kpd.wire import BRIEF_S, DaemonError

MAX_DURABLE = 16 * 1024 * 1024  # bytes of events and answers; a client further behind is cut off
MAX_LIVE = 256 * 1024  # bytes of live output; what exceeds them is left out
BATCH = 64 * 1024  # bytes handed to the socket at once
GRACE_S = 2.0  # for a client to read the last line


class Outbox:
    """Lines for one client. `put…` never waits; the task `run` sends."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._lines: deque[tuple[bytes, bool]] = deque()  # line, is it live output?
        self._durable = 0
        self._live = 0
        self._dropped = 0
        self._allowance = MAX_DURABLE
        self._ending = False
        self._gone = False
        self._over = False
        self._patience: asyncio.TimerHandle | None = None
        self._news = asyncio.Event()

    @property
    def idle(self) -> bool:
        return not self._lines

    def put(self, line: bytes) -> None:
        """Queue a line that must arrive: a client that is too far behind is cut off, and told so."""
        if self._ending:
            return
        if self._durable + len(line) > self._allowance:
            self.end(DaemonError("infra", "this client reads too slowly and was cut off", "subscribe again"))
            return
        self._durable += len(line)
        self._append(line, live=False)

    def put_snapshot(self, line: bytes) -> None:
        """Queue a line of any size, which does not count against the client."""
        self._allowance = self._durable + len(line) + MAX_DURABLE
        self.put(line)

    def put_live(self, line: bytes) -> None:
        """Queue a line that is left out, and counted, while the client is behind."""
        if self._ending:
            return
        if self._live + len(line) > MAX_LIVE:
            self._dropped += 1
            return
        if self._dropped:
            self.put(push_line(Dropped(self._dropped)))
            self._dropped = 0
        self._live += len(line)
        self._append(line, live=True)

    def end(self, error: DaemonError | None = None) -> None:
        """Send the queued lines, or with `error` only that, then close. After GRACE_S, cut off a slow client."""
        if self._ending:
            return
        self._ending = True
        if error is not None:
            self._lines.clear()
            self._append(error_line(None, error), live=False)
        self._news.set()
        if not self._over:
            self._patience = asyncio.get_running_loop().call_later(GRACE_S, self.abort)

    def abort(self) -> None:
        """Close the connection at once, whatever is still to be sent."""
        if not self._gone:
            self._writer.transport.abort()

    async def run(self) -> None:
        """Send queued lines until `end`, or until the client is gone."""
        try:
            with contextlib.suppress(ConnectionError):
                await self._send_all()
        finally:
            self._over = True
            if self._patience is not None:
                self._patience.cancel()  # it would keep all that the client has sent in memory until then

    async def _send_all(self) -> None:
        while not (self._ending and not self._lines):
            if not self._lines:
                self._news.clear()
                await self._news.wait()
                continue
            self._writer.write(self._batch())
            await self._writer.drain()
        self._writer.close()
        await self._writer.wait_closed()
        self._gone = True  # asyncio cannot abort a transport that went on sending after `close`, and has ended

    def _append(self, line: bytes, live: bool) -> None:
        self._lines.append((line, live))
        self._news.set()

    def _batch(self) -> bytes:
        taken: list[bytes] = []
        size = 0
        while self._lines and size < BATCH:
            line, live = self._lines.popleft()
            taken.append(line)
            size += len(line)
            if live:
                self._live -= len(line)
            else:
                self._durable -= len(line)
        if not self._lines:
            self._allowance = MAX_DURABLE
        return b"".join(taken)


LONGEST = 160  # characters of a line
MOST_STREAMS = 16  # kept between two messages to the client

Stream = tuple[str, str, int]


class LiveSummary:
    """A filter of live output for one client: every BRIEF_S it sends only the last line of each stream."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._lasts: dict[Stream, str] = {}
        self._due: asyncio.TimerHandle | None = None

    def hear(self, live: Live) -> None:
        stream = (live.channel, live.run, live.iteration)
        if stream in self._lasts or len(self._lasts) < MOST_STREAMS:
            self._lasts[stream] = last_line(self._lasts.get(stream, "") + live.text)
        if self._due is None:
            self._due = asyncio.get_running_loop().call_later(BRIEF_S, self._send)

    def end(self) -> None:
        if self._due is not None:
            self._due.cancel()

    def _send(self) -> None:
        self._due = None
        lasts, self._lasts = self._lasts, {}
        for (channel, run, iteration), text in lasts.items():
            if said := text.rstrip():
                self._outbox.put_live(push_line(Live(channel, run, iteration, f"{said}\n")))


def last_line(text: str) -> str:
    """Return the last line with text in it, without its start where it is long; blanks after it become one."""
    said = text.rstrip()
    line = re.split(r"[\r\n]", said)[-1] if said else ""
    if len(line) > LONGEST:
        line = f"…{line[1 - LONGEST :]}"
    rest = text[len(said) :]
    return line + ("\n" if "\n" in rest or "\r" in rest else " " if rest else "")
