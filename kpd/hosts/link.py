"""Sends requests to a helper over its pipe: by id, any number in flight, one round trip each."""

import asyncio
import contextlib
import itertools
import json
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Protocol, runtime_checkable

from kpd.hosts.bundle import bundle
from kpd.hosts.channel import Channel
from kpd.hosts.child import OutputFlood
from kpd.hosts.errors import HostError, HostErrorKind, HostKey, from_helper
from kpd.hosts.helper.wire import GREETING, LENGTHS, MAX_BODY, MAX_FRAME, pack
from kpd.model.hosts import Check

CHATTER = 16 << 10  # bytes of a login shell's output to skip before the helper's greeting
SLICE = 256 << 10  # bytes of a message handed to the pipe at a time, so that a slow upload is seen to move
HEARTBEAT_S = 5.0  # between one answer to a ping and the next ping
PATIENCE_S = 15.0  # without a sign of life, after which a link counts as lost
CLOSE_S = 5.0  # for the far side to end


class Transport(Protocol):
    """A way to reach a host. `kind` is its name in config.toml."""

    @property
    def kind(self) -> str: ...

    async def open(self) -> Channel:
        """Start python3 on the host. Raises HostError (unreachable, auth, host_key, no_python, config)."""
        ...

    async def trust(self, key: HostKey) -> None:
        """Accept `key`, which the host has presented, as the host's, on a person's word.

        Raises HostError (host_key).
        """
        ...

    async def close(self) -> None:
        """Release what is kept between channels."""
        ...


RunOnNode = Callable[[str, float], Awaitable[Any]]
"""Runs a short script on the host that is lent, with a limit in seconds, and returns how it ended."""


@runtime_checkable
class Allocator(Transport, Protocol):
    """A transport to hosts that a scheduler lends for a while.

    `open` asks for one where there is none, and raises `errors.Pending` while that waits; `close` gives it back. It is
    given back, too, when no run has needed it for `idle_s` seconds.
    """

    idle_s: float

    def left_s(self) -> float | None:
        """Return for how many seconds the host is there; None where that is not known."""
        ...

    def whole_s(self) -> float:
        """Return for how many seconds in all it was asked for."""
        ...

    async def checks(self, run: RunOnNode, root: PurePath) -> tuple[Check, ...]:
        """Look at what lends the host: for its preflight, while it is up, and `run` runs a script there.

        `root` is kpd's folder there. Raises HostError.
        """
        ...

    async def give_back(self) -> None:
        """Give the host back now; what runs there is ended. Raises HostError."""
        ...


@dataclass(frozen=True, slots=True)
class Frame:
    """One message from the helper: `fields` and raw bytes. `final` marks the last of a request."""

    fields: dict[str, Any]
    body: bytes
    final: bool


class Link:
    """A helper that answers. When the pipe breaks, every request in flight and every later one raises HostError.

    A far side that says nothing for `patience_s` while it is asked is taken for gone.
    """

    def __init__(
        self, host: str, channel: Channel, heartbeat_s: float = HEARTBEAT_S, patience_s: float = PATIENCE_S
    ) -> None:
        self.host = host
        self.rtt_s: float | None = None  # the last round trip of a ping
        self.broken = asyncio.Event()
        self.error: HostError | None = None  # what broke it
        self._channel = channel
        self._heartbeat_s = heartbeat_s
        self._patience_s = patience_s
        self._alive_at = time.monotonic()
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Queue[Frame | HostError]] = {}
        self._sending = asyncio.Lock()
        self._queued = 0  # messages that wait for the one being sent
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def up(self) -> bool:
        return self.error is None

    async def start(self) -> None:
        """Send the helper and wait until it answers. Raises HostError (no_python, unreachable, config)."""
        try:
            with contextlib.suppress(OSError):  # the cause is read below: its end, or a lost connection
                await self._send(bundle())
            seen = b""
            while not seen.endswith(GREETING):
                if len(seen) > CHATTER:
                    raise OutputFlood
                seen += await self._channel.reader.readexactly(1)
        except (EOFError, OSError) as err:
            words = await self._close_channel()
            if isinstance(err, OutputFlood):
                broken = err.error(self.host)
            else:
                kind: HostErrorKind = "no_python" if isinstance(err, EOFError) else "unreachable"
                broken = HostError(kind, f"{self.host}: the helper did not start: {words or err}")
            self._fail(broken)
            raise broken from err
        self._begin(self._read(), "reads")
        self._begin(self._watch(), "watches")

    def reserve(self) -> int:
        """Return the id of a later request, for callers that need it beforehand."""
        return next(self._ids)

    async def ask(self, op: str, body: bytes = b"", **fields: Any) -> Frame:
        """Send a request and return its one answer. Raises HostError."""
        async with contextlib.aclosing(self.follow(op, body, **fields)) as frames:
            return await anext(frames)

    async def tell(self, op: str, **fields: Any) -> None:
        """Send a message that has no answer. It is lost if the link is."""
        with contextlib.suppress(OSError):  # the reading task reports it
            await self._send(pack({"id": self.reserve(), "op": op, **fields}))

    async def follow(
        self, op: str, body: bytes = b"", request: int | None = None, **fields: Any
    ) -> AsyncGenerator[Frame]:
        """Send a request and yield all its frames, the last one `final`. Raises HostError."""
        if self.error is not None:
            raise self.error.again()
        if len(body) > MAX_BODY:
            raise HostError("too_large", f"{self.host}: a message of {len(body)} bytes is over {MAX_BODY}")
        request = self.reserve() if request is None else request
        frames: asyncio.Queue[Frame | HostError] = asyncio.Queue()
        self._waiting[request] = frames
        try:
            with contextlib.suppress(OSError):  # the reading task reports it, with the end of the helper's stderr
                await self._send(pack({"id": request, "op": op, **fields}, body))
            while True:
                frame = await frames.get()
                if isinstance(frame, HostError):
                    raise frame.again()
                yield frame
                if frame.final:
                    return
        finally:
            self._waiting.pop(request, None)

    async def close(self) -> None:
        """End the helper; its jobs go on."""
        self._fail(HostError("unreachable", f"{self.host}: the link was closed"))
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self._close_channel()

    def _begin(self, work: Coroutine[Any, Any, None], does: str) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name=f"{does} the link to {self.host}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _send(self, data: bytes) -> None:
        """Write a whole message to the pipe, even if the caller is cancelled: half of one would garble the rest."""
        if len(data) <= SLICE and not self._queued:
            self._channel.writer.write(data)
            await self._channel.writer.drain()
        else:
            self._queued += 1
            await asyncio.shield(self._begin(self._send_slices(data), "writes to"))

    async def _send_slices(self, data: bytes) -> None:
        try:
            async with self._sending:
                for start in range(0, len(data), SLICE):
                    self._channel.writer.write(data[start : start + SLICE])
                    await self._channel.writer.drain()
                    self._alive_at = time.monotonic()
        finally:
            self._queued -= 1

    async def _read(self) -> None:
        reader = self._channel.reader
        try:
            while True:
                head, size = LENGTHS.unpack(await reader.readexactly(LENGTHS.size))
                if head + size > MAX_FRAME:
                    raise ValueError(f"a frame of {head + size} bytes is over the limit")
                header = json.loads(await reader.readexactly(head))
                self._alive_at = time.monotonic()
                body = await self._body(size)
                self._deliver(header, body)
        except (EOFError, OSError, ValueError, KeyError, TypeError) as err:
            words = await self._close_channel()
            said = f": {words}" if words else "" if isinstance(err, EOFError) else f": {err}"
            self._fail(HostError("helper_died", f"{self.host}: the link to the helper broke{said}"))

    async def _body(self, size: int) -> bytes:
        """Read a body piece by piece, so that a slow answer is seen to move."""
        body = bytearray()
        while len(body) < size:
            piece = await self._channel.reader.read(size - len(body))
            # At the end `read` does not say why the stream ended; `readexactly` raises the cause.
            body += piece or await self._channel.reader.readexactly(1)
            self._alive_at = time.monotonic()
        return bytes(body)

    async def _watch(self) -> None:
        """Ping the far side, so that one that is frozen or cut off without notice is detected."""
        while self.up:
            await asyncio.sleep(self._heartbeat_s)
            begun = time.monotonic()
            try:
                async with asyncio.timeout(self._patience_s):
                    await self.ask("ping")
                self.rtt_s = time.monotonic() - begun
            except HostError:
                return  # broken: all who wait have been told
            except TimeoutError:
                silent = time.monotonic() - self._alive_at
                if silent >= self._patience_s:  # otherwise a long message is being transferred
                    self._fail(HostError("unreachable", f"{self.host}: no sign of life for {silent:.0f} s"))
                    await self._close_channel()

    async def _close_channel(self) -> str:
        try:
            async with asyncio.timeout(CLOSE_S):
                return await self._channel.close()
        except TimeoutError:
            return "the connection could not be closed properly"

    def _deliver(self, header: dict[str, Any], body: bytes) -> None:
        frames = self._waiting.get(header["id"])
        if frames is None:
            return  # nobody waits for it any more
        if "error" in header:
            frames.put_nowait(from_helper(self.host, header["error"]["kind"], header["error"]["message"]))
        else:
            final = "ok" in header
            frames.put_nowait(Frame(header["ok"] if final else header, body, final))

    def _fail(self, error: HostError) -> None:
        """Mark the link as broken and tell everyone who waits; only the first error counts."""
        if self.error is not None:
            return
        self.error = error
        self.broken.set()
        for frames in self._waiting.values():
            frames.put_nowait(error)
