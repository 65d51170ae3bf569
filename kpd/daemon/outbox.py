"""What waits to be sent to one client: in order, bounded, and never in the daemon's way."""

import asyncio
import contextlib
from collections import deque

from kpd.messages import Dropped, error_line, push_line
from kpd.wire import DaemonError

MAX_DURABLE = 16 * 1024 * 1024  # bytes of events and answers; a client further behind is cut off
MAX_LIVE = 256 * 1024  # bytes of live output; what comes on top is left out
BATCH = 64 * 1024  # bytes handed to the socket at once
GRACE_S = 2.0  # for a client to take the last line


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
        self._news = asyncio.Event()

    @property
    def idle(self) -> bool:
        return not self._lines

    def put(self, line: bytes) -> None:
        """A line that the client gets, or else it is cut off with the reason."""
        if self._ending:
            return
        if self._durable + len(line) > self._allowance:
            self.end(DaemonError("infra", "this client reads too slowly and was cut off", "subscribe again"))
            return
        self._durable += len(line)
        self._append(line, live=False)

    def put_snapshot(self, line: bytes) -> None:
        """A line that is as large as it is: it does not count against the client."""
        self._allowance = self._durable + len(line) + MAX_DURABLE
        self.put(line)

    def put_live(self, line: bytes) -> None:
        """A line that is left out, and counted, while the client is behind."""
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
        """Send what waits, or with `error` nothing more than that, then close. A client that does not read is left."""
        if self._ending:
            return
        self._ending = True
        if error is not None:
            self._lines.clear()
            self._append(error_line(None, error), live=False)
        self._news.set()
        asyncio.get_running_loop().call_later(GRACE_S, self._writer.transport.abort)

    async def run(self) -> None:
        """Send until `end` or until the client is gone."""
        with contextlib.suppress(ConnectionError):
            while not (self._ending and not self._lines):
                if not self._lines:
                    self._news.clear()
                    await self._news.wait()
                    continue
                self._writer.write(self._batch())
                await self._writer.drain()
            self._writer.close()
            await self._writer.wait_closed()

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
