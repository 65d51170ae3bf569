"""A scripted stand-in for the model service: real HTTP and server-sent events on loopback, reached by `base_url`.

It answers each request with the next behaviour of its script, refuses what the real service refuses (a wrong key, an
unknown model, sampling parameters, a prefilled answer, …), and accounts for the prompt cache as `anthropic_cache` says.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from kpd.claude.prices import known
from tests.support.claude.anthropic_cache import Cache, Charge, blocks
from tests.support.claude.anthropic_script import (
    Asked,
    Behaviour,
    Broken,
    Held,
    Reply,
    Script,
    Status,
    events_of,
    last_words,
    refusal,
)

KEY = "sk-test-0123456789abcdef"
__all__ = ["KEY", "Asked", "Broken", "Held", "Reply", "Server", "Status", "model_service", "serving"]
EFFORTS = ("low", "medium", "high", "xhigh", "max")


class Server:
    """`url` is for `base_url`. `asked` are all requests, `charged` what was counted for those that were answered.

    `clock` (seconds) may be moved on to let cache entries grow old; `models` are served beside those with a price.
    """

    def __init__(self, script: Script, key: str = KEY) -> None:
        self._script = script if callable(script) else None
        self._steps = iter(()) if callable(script) else iter(script)
        self._key = key
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._cache = Cache()
        self.port = 0
        self.clock = 0.0
        self.models: set[str] = set()
        self.asked: list[Asked] = []
        self.charged: list[Charge] = []
        self.came = asyncio.Condition()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def up(self) -> None:
        """Listens, on the port that it had if it was down."""
        self._server = await asyncio.start_server(self._accepted, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def down(self) -> None:
        """Refuses connections, and breaks those that there are."""
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self._server.wait_closed()

    async def wait_for(self, requests: int) -> None:
        """Until so many requests have come."""
        async with self.came:
            await self.came.wait_for(lambda: len(self.asked) >= requests)

    def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.set_write_buffer_limits(0)  # what was sent is with the kernel, a cut does not lose it
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                while (request := await _request(reader)) is not None:
                    path, asked = request
                    self.asked.append(asked)
                    async with self.came:
                        self.came.notify_all()
                    if not await self._answer(path, asked, reader, writer):
                        return
        finally:
            writer.transport.abort()

    async def _answer(
        self, path: str, asked: Asked, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bool:
        """False when the connection is spent."""
        behaviour = self._refusal(path, asked) or self._next(asked)
        if isinstance(behaviour, Status):
            writer.write(refusal(behaviour))
            await writer.drain()
            return True
        charge = self._cache.charge(asked.body, self.clock)
        self.charged.append(charge)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        events = events_of(behaviour, asked, charge)
        match behaviour:
            case Broken():
                await _send(writer, events[: behaviour.after])
                return await _break(behaviour, reader, writer)
            case Held():
                await _send(writer, events[: behaviour.after])
                await behaviour.release.wait()
                await _send(writer, events[behaviour.after :])
            case _:
                await _send(writer, events)
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    def _next(self, asked: Asked) -> Behaviour:
        if self._script is not None:
            return self._script(asked)
        return next(self._steps, Status(400, "invalid_request_error", "the script has come to its end"))

    def _refusal(self, path: str, asked: Asked) -> Status | None:
        """What the service refuses of itself, whatever the script says next."""
        body, model = asked.body, known(str(asked.body.get("model")))
        texts = [block["text"] for block in blocks(body)]
        if asked.headers.get("authorization") != f"Bearer {self._key}" and asked.headers.get("x-api-key") != self._key:
            return Status(401, "authentication_error", "invalid x-api-key")
        if path != "/v1/messages" or (model is None and body["model"] not in self.models):
            return Status(404, "not_found_error", f"model: {body.get('model')}")
        wrong = {
            "temperature is deprecated": bool({"temperature", "top_p", "top_k"} & body.keys()),
            "max_tokens is too large": not 0 < body["max_tokens"] <= ((model and model.max_output) or 128_000),
            "no prefill": body["messages"][-1]["role"] != "user",
            "roles must alternate": any(
                turn["role"] != ("user", "assistant")[at % 2] for at, turn in enumerate(body["messages"])
            ),
            "text content blocks must be non-empty": not all(text.strip() for text in texts),
            "a maximum of 4 blocks with cache_control": sum("cache_control" in block for block in blocks(body)) > 4,
            "this model does not support the effort parameter": "output_config" in body
            and not ((model is None or model.effort) and body["output_config"]["effort"] in EFFORTS),
        }
        first = next((words for words, is_so in wrong.items() if is_so), None)
        return None if first is None else Status(400, "invalid_request_error", first)


@contextlib.asynccontextmanager
async def serving(script: Script, key: str = KEY) -> AsyncIterator[Server]:
    """A running server."""
    server = Server(script, key)
    await server.up()
    try:
        yield server
    finally:
        await server.down()


@pytest.fixture
async def model_service() -> AsyncIterator[Callable[[Script], Any]]:
    """Starts servers: `server = await model_service([Reply("…")])`."""
    async with contextlib.AsyncExitStack() as stack:

        async def start(script: Script) -> Server:
            return await stack.enter_async_context(serving(script))

        yield start


async def _request(reader: asyncio.StreamReader) -> tuple[str, Asked] | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    except asyncio.IncompleteReadError:
        return None
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return head[0].split()[1], Asked(headers, json.loads(body))


async def _send(writer: asyncio.StreamWriter, events: list[bytes]) -> None:
    for event in events:
        writer.write(f"{len(event):x}\r\n".encode() + event + b"\r\n")
    await writer.drain()


async def _break(broken: Broken, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    if broken.how == "stall":
        await reader.read()
    if broken.how in ("stall", "cut"):
        return False
    await _send(writer, last_words(broken))
    writer.write(b"0\r\n\r\n")
    await writer.drain()
    return True
