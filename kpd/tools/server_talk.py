"""Talks with the server of a tool over the Model Context Protocol. Only this module imports the SDK's client."""

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import mcp_types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp import ClientSession
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from kpd import __version__
from kpd.hosts.kept import KeptProcess
from kpd.tools.clean_room import finish

MOST_MESSAGE = 4 << 20
MOST_BYTES = 16 << 20
MOST_TOOLS = 50
"""Bytes of a message and of all messages of a server, and the most tools that it may list."""
NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
"""A name that a tool of a server may have: it is shown to agents and to people."""
CHUNK = 64 << 10


class ServerTrouble(Exception):
    """The error that a tool's server does not answer as it should; the message says why."""


class ServerTalk:
    """A server that has introduced itself.

    The SDK's own `list_tools` and `call_tool` are not used: they match answers with the server's schema, whose regular
    expressions can take hours, during which nothing else of this process runs.
    """

    def __init__(self, session: ClientSession, process: KeptProcess) -> None:
        self._session = session
        self._process = process

    async def begin(self, limit_s: float) -> None:
        """Introduce both sides to each other. Raises ServerTrouble."""
        await self._asked(self._session.initialize(), limit_s, "initialize")

    async def inventory(self, limit_s: float) -> tuple[str, ...]:
        """Return the names of the server's tools, in its order. Raises ServerTrouble."""
        asking = self._session.send_request(mcp_types.ListToolsRequest(), mcp_types.ListToolsResult)
        found: mcp_types.ListToolsResult = await self._asked(asking, limit_s, "tools/list")
        if found.next_cursor or len(found.tools) > MOST_TOOLS:
            raise ServerTrouble(f"it lists more than {MOST_TOOLS} tools, or pages of them")
        names = tuple(tool.name for tool in found.tools)
        if strange := next((name for name in names if not NAME.fullmatch(name)), None):
            raise ServerTrouble(f"a tool is named {ascii(strange)[:100]}; use 1 to 64 of a-z, A-Z, 0-9, _ . and -")
        return names

    async def call(self, tool: str, arguments: Mapping[str, Any], limit_s: float) -> str:
        """Call a tool, and return its answer as text. Raises ServerTrouble, also where the answer is an error."""
        params = mcp_types.CallToolRequestParams(name=tool, arguments=dict(arguments))
        asking = self._session.send_request(mcp_types.CallToolRequest(params=params), mcp_types.CallToolResult)
        called: mcp_types.CallToolResult = await self._asked(asking, limit_s, tool)
        told = "\n".join(part.text for part in called.content if isinstance(part, mcp_types.TextContent))
        if called.is_error:
            raise ServerTrouble(told or "it answered with an error, without a word")
        if not called.content and not called.structured_content:
            raise ServerTrouble("it answered nothing")
        return told

    async def _asked(self, asking: Any, limit_s: float, what: str) -> Any:
        try:
            async with asyncio.timeout(limit_s):
                return await asking
        except TimeoutError as err:
            raise ServerTrouble(f"no answer to {what} within {limit_s:g} s") from err
        except (MCPError, ValidationError, ValueError, RuntimeError, anyio.ClosedResourceError) as err:
            words = self._process.said.splitlines()
            raise ServerTrouble(f"{what}: {err}{f'; {words[-1]}' if words else ''}") from err


@asynccontextmanager
async def talking(process: KeptProcess) -> AsyncIterator[ServerTalk]:
    """Connect to the server behind a process's pipes, which is ended after the block."""
    heard, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, told = anyio.create_memory_object_stream[SessionMessage](0)
    pumps = (asyncio.create_task(_hear(process, heard)), asyncio.create_task(_tell(process, told)))
    known = mcp_types.Implementation(name="kpd", version=__version__)
    try:
        async with ClientSession(read, write, client_info=known) as session:
            yield ServerTalk(session, process)
    finally:
        try:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            for stream in (heard, read, write, told):
                stream.close()
        finally:
            await finish(process)


async def _hear(process: KeptProcess, heard: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
    """Pass on what the server says, up to the limits. The stream closes at the end."""
    buffer, size = bytearray(), 0
    with heard:
        while data := await process.stdout.read(CHUNK):
            size += len(data)
            buffer += data
            *lines, rest = bytes(buffer).split(b"\n")
            buffer = bytearray(rest)
            if size > MOST_BYTES or len(buffer) > MOST_MESSAGE:
                return
            for line in lines:
                if line.strip():
                    await heard.send(_parsed(line))


def _parsed(line: bytes) -> SessionMessage | Exception:
    try:
        return SessionMessage(mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except (ValueError, RecursionError) as err:
        return ValueError(f"a line that is no message: {err}")


async def _tell(process: KeptProcess, told: MemoryObjectReceiveStream[SessionMessage]) -> None:
    async for message in told:
        process.stdin.write(message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
        await process.stdin.drain()
