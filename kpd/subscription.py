"""Subscribes to the daemon with asyncio, for the UI and for `kpd log -f`."""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from kpd import __version__, messages as m
from kpd.client import own_socket
from kpd.messages import Dropped, Heartbeat, Live, Welcome
from kpd.model import codec
from kpd.wire import MAX_REQUEST, PROTOCOL, SILENCE_S, DaemonError, LiveOutput, NoDaemon

__all__ = ["Client", "DaemonError", "Dropped", "Heartbeat", "Live", "NoDaemon", "Welcome"]

MAX_PUSH = 512 * 1024 * 1024  # bytes of a daemon's line: a snapshot may be large
MAX_LIVE = 1000  # live messages that may wait to be read
CHUNK = 256 * 1024  # bytes read at once
TURN_S = 0.002  # messages are read for this long in a row; then keys have their turn
CLOSE_S = 1.0  # for the last bytes to be sent


class Client:
    """One connection to the daemon. Queries and commands can be sent while another task reads `messages`.

    `by` is the author of its commands, `live` says how much output `messages` includes. `explain` may replace the error
    of a lost connection, where the daemon's socket is only the near end of a tunnel. A daemon that is silent for
    `silence_s` seconds (default: SILENCE_S) is taken for hung.
    """

    def __init__(
        self,
        path: Path,
        name: str,
        read_only: bool = False,
        by: str = "",
        live: LiveOutput = "full",
        explain: Callable[[DaemonError], DaemonError] = lambda err: err,
        silence_s: float | None = None,
    ) -> None:
        self._path = path
        self._name = name
        self._read_only = read_only
        self._by = by
        self._live = live
        self._explain = explain
        self._silence_s = SILENCE_S if silence_s is None else silence_s
        self._heard_at = 0.0  # when the last byte came
        self._numbers = 1
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._pushed: deque[m.Push] = deque()
        self._live_waiting = 0
        self._dropped = 0
        self._news = asyncio.Event()
        self._ended: DaemonError | None = None
        self._closing = False
        self._reader: asyncio.Task[None] | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def __aenter__(self) -> "Client":
        await self.connect()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def connect(self) -> Welcome:
        """Connect and say hello. Raises NoDaemon when nobody listens, DaemonError when the daemon refuses."""
        own_socket(self._path)
        try:
            reader, self._writer = await asyncio.open_unix_connection(self._path, limit=CHUNK)
        except (FileNotFoundError, ConnectionRefusedError) as err:
            raise NoDaemon() from err
        except OSError as err:
            raise DaemonError("infra", f"cannot reach the daemon at {self._path}: {err}") from err
        self._reader = asyncio.create_task(self._read(reader), name="kpd client")
        hello = m.Hello(self._next_number(), PROTOCOL, __version__, self._name, self._read_only, self._by)
        try:
            answer = await self._ask_soon(hello)
        except DaemonError:
            await self.close()
            raise
        return codec.decode(codec.encode(answer), Welcome)

    async def query(self, what: str, **args: Any) -> Any:
        """Return the daemon's answer to a query. Raises DaemonError."""
        return await self._ask(m.Query(self._next_number(), what, args))

    async def command(self, verb: str, **args: Any) -> Any:
        """Send a command, and return the answer once the command has had its effect. Raises DaemonError."""
        return await self._ask(m.Command(self._next_number(), verb, args))

    async def messages(self, after: int = 0) -> AsyncIterator[m.Push]:
        """Subscribe, and yield every message from now on.

        First comes a State, or the events since number `after` where the daemon can still send them. Ends when the
        client is closed. Raises DaemonError when the connection is lost, when the daemon ends it, or when nothing was
        heard for `silence_s`; a new client may then go on from the last event's number.
        """
        await self._ask_soon(m.Subscribe(self._next_number(), after, self._live))
        while True:
            while self._pushed:
                message = self._pushed.popleft()
                if isinstance(message, Live):
                    self._live_waiting -= 1
                    if self._dropped:
                        lost, self._dropped = self._dropped, 0
                        yield Dropped(lost)
                yield message
            if self._closing:
                return
            if self._ended is not None:
                raise self._ended
            self._news.clear()
            await self._hear()

    async def close(self) -> None:
        """Close the connection. Requests that still wait for an answer fail with DaemonError."""
        self._closing = True
        self._news.set()
        if self._ended is None:
            self._give_up(
                DaemonError("infra", "no answer has come", "it may be done all the same: look before you repeat it")
            )
            self._ended = DaemonError("infra", "the connection is closed")
        if self._writer is not None:
            self._writer.close()
            with contextlib.suppress(OSError):
                try:
                    async with asyncio.timeout(CLOSE_S):
                        await self._writer.wait_closed()
                except TimeoutError:  # a frozen daemon reads nothing
                    self._writer.transport.abort()
        if self._reader is not None:
            await self._reader

    def _next_number(self) -> int:
        self._numbers += 1
        return self._numbers

    async def _hear(self) -> None:
        """Wait for the next message. Raises DaemonError when the daemon is silent for too long.

        A long message that is still arriving does not count as silence.
        """
        while not self._news.is_set():
            left = self._heard_at + self._silence_s - time.monotonic()
            if left <= 0:
                raise self._explain(self._silent())
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._news.wait()

    def _silent(self) -> DaemonError:
        said = f"the daemon has been silent for more than {self._silence_s:g} s"
        return DaemonError("infra", said, "kpd status shows what it does")

    async def _ask_soon(self, request: m.Request) -> Any:
        """Send a request that is answered at once. Raises DaemonError when no answer comes within `silence_s`."""
        try:
            async with asyncio.timeout(self._silence_s):
                return await self._ask(request)
        except TimeoutError as err:
            raise self._explain(self._silent()) from err

    async def _ask(self, request: m.Request) -> Any:
        if self._writer is None:
            raise DaemonError("usage", "the client is not connected")
        if self._ended is not None:
            raise self._ended
        line = m.request_line(request)
        if len(line) > MAX_REQUEST:
            raise DaemonError("usage", f"too long: a message may have {MAX_REQUEST} bytes at most")
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[request.id] = answer
        try:
            self._writer.write(line)
            return await answer
        finally:
            del self._waiting[request.id]

    async def _read(self, reader: asyncio.StreamReader) -> None:
        """Read lines until the connection ends, and pass each to its reader; then tell all who wait why it ended."""
        ended = DaemonError("infra", "the daemon has ended the connection", "kpd status shows whether it still runs")
        turn = time.monotonic()
        try:
            async for line in self._lines(reader):
                message = m.received(line)
                if isinstance(message, m.Reply):
                    self._answer(message)
                else:
                    self._keep(message)
                if time.monotonic() - turn > TURN_S:
                    await asyncio.sleep(0)
                    turn = time.monotonic()
        except DaemonError as err:
            ended = err
        except OSError as err:
            ended = DaemonError("infra", f"the connection to the daemon was lost: {err}")
        if self._ended is None:
            self._give_up(self._explain(ended))
        self._news.set()
        if self._writer is not None:
            self._writer.close()

    def _give_up(self, why: DaemonError) -> None:
        self._ended = why
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(why)

    async def _lines(self, reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
        """Yield whole lines as they come, each with its line end.

        Every byte counts as a sign of life, also one in the middle of a line.
        """
        begun: list[bytes] = []
        size = 0
        self._heard_at = time.monotonic()
        while data := await reader.read(CHUNK):
            self._heard_at = time.monotonic()
            *ends, rest = data.split(b"\n")
            for end in ends:
                yield b"".join((*begun, end, b"\n"))
                begun, size = [], 0
            begun.append(rest)
            size += len(rest)
            if size > MAX_PUSH:
                raise DaemonError("protocol", f"the daemon sent more than {MAX_PUSH} bytes without an end of line")

    def _answer(self, reply: m.Reply) -> None:
        if reply.id is None:
            reply.value()
            return
        answer = self._waiting.get(reply.id)
        if answer is None or answer.done():  # the task that asked was cancelled
            return
        try:
            answer.set_result(reply.value())
        except DaemonError as err:
            answer.set_exception(err)

    def _keep(self, message: m.Push) -> None:
        if isinstance(message, Live):
            if self._live_waiting >= MAX_LIVE:
                self._dropped += 1
                return
            self._live_waiting += 1
        self._pushed.append(message)
        self._news.set()
