"""The near end of a helper's pipe: requests by id, any number in flight, one round trip each."""

import asyncio
import contextlib
import itertools
import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any, Protocol

from kpd.hosts.bundle import bundle
from kpd.hosts.errors import HostError, from_helper
from kpd.hosts.helper.wire import GREETING, LENGTHS, MAX_BODY, MAX_FRAME, pack

CHATTER = 16 << 10  # bytes of a login shell's greetings to read over before the helper's own


class Reader(Protocol):
    async def read(self, n: int) -> bytes: ...
    async def readexactly(self, n: int) -> bytes: ...


class Writer(Protocol):
    def write(self, data: bytes) -> None: ...
    async def drain(self) -> None: ...


class Channel(Protocol):
    """A byte pipe to a python3 that runs `bundle.BOOTSTRAP`: all that a transport has to provide."""

    @property
    def reader(self) -> Reader: ...

    @property
    def writer(self) -> Writer: ...

    async def close(self) -> str:
        """Ends the far side, however it is; what it last wrote to its stderr."""
        ...


class Transport(Protocol):
    """A way to a host. `kind` is its word in config.toml."""

    @property
    def kind(self) -> str: ...

    async def open(self) -> Channel:
        """Starts python3 on the host. Raises HostError (unreachable, no_python)."""
        ...


@dataclass(frozen=True, slots=True)
class Frame:
    """One message from the helper: `fields` and raw bytes. `final` marks the last of a request."""

    fields: dict[str, Any]
    body: bytes
    final: bool


class Link:
    """A helper that answers. When the pipe breaks, every request in flight and every later one raises HostError."""

    def __init__(self, host: str, channel: Channel) -> None:
        self.host = host
        self._channel = channel
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Queue[Frame | HostError]] = {}
        self._broken: HostError | None = None
        self._reading: asyncio.Task[None] | None = None

    @property
    def up(self) -> bool:
        return self._broken is None

    async def start(self) -> None:
        """Sends the helper and waits until it speaks. Raises HostError (no_python)."""
        try:
            self._channel.writer.write(bundle())
            await self._channel.writer.drain()
            seen = b""
            while not seen.endswith(GREETING):
                if len(seen) > CHATTER:
                    raise EOFError("the host's shell talks too much before the helper starts")
                seen += await self._channel.reader.readexactly(1)
        except (EOFError, OSError) as err:
            words = await self._channel.close()
            self._broken = HostError("no_python", f"{self.host}: the helper did not start: {words or err}")
            raise self._broken from err
        self._reading = asyncio.create_task(self._read(), name=f"link to {self.host}")

    async def ask(self, op: str, body: bytes = b"", **fields: Any) -> Frame:
        """One request and its one answer. Raises HostError."""
        async with contextlib.aclosing(self.follow(op, body, **fields)) as frames:
            return await anext(frames)

    async def follow(self, op: str, body: bytes = b"", **fields: Any) -> AsyncGenerator[Frame]:
        """One request and all its frames, the last one `final`. Raises HostError."""
        if self._broken is not None:
            raise self._broken
        if len(body) > MAX_BODY:
            raise HostError("too_large", f"{self.host}: a message of {len(body)} bytes is over {MAX_BODY}")
        request = next(self._ids)
        frames: asyncio.Queue[Frame | HostError] = asyncio.Queue()
        self._waiting[request] = frames
        try:
            self._channel.writer.write(pack({"id": request, "op": op, **fields}, body))
            with contextlib.suppress(ConnectionError):  # the reading task says so, with the helper's last words
                await self._channel.writer.drain()
            while True:
                frame = await frames.get()
                if isinstance(frame, HostError):
                    raise frame
                yield frame
                if frame.final:
                    return
        finally:
            self._waiting.pop(request, None)

    async def close(self) -> None:
        """Ends the helper; its jobs go on."""
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.wait([self._reading])
        if self._broken is None:
            self._fail(HostError("unreachable", f"{self.host}: the link was closed"))
            await self._channel.close()

    async def _read(self) -> None:
        reader = self._channel.reader
        try:
            while True:
                head, size = LENGTHS.unpack(await reader.readexactly(LENGTHS.size))
                if head + size > MAX_FRAME:
                    raise ValueError(f"a frame of {head + size} bytes is over the limit")
                header = json.loads(await reader.readexactly(head))
                body = await reader.readexactly(size) if size else b""
                self._deliver(header, body)
        except (EOFError, OSError, ValueError, KeyError, TypeError) as err:
            words = await self._channel.close()
            said = f": {words}" if words else "" if isinstance(err, EOFError) else f": {err}"
            self._fail(HostError("helper_died", f"{self.host}: the link to the helper broke{said}"))

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
        self._broken = error
        for frames in self._waiting.values():
            frames.put_nowait(error)
