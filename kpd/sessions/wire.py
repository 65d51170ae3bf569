"""Carries the messages of the protocol over an agent's pipes, within limits that no agent can pass."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from kpd.hosts.kept import KeptProcess
from kpd.sessions.cleaning import TextCleaner

MOST_MESSAGE = 16 << 20
MOST_BYTES = 512 << 20
MOST_MESSAGES = 500_000
"""Bytes of one message and of all messages of a turn, and their number."""
CHUNK = 1 << 20
HEARD = ("session/update", "_claude/sdkMessage")
"""Notifications that are not the library's: the protocol's, and what Claude Code says beside it."""
INTERNAL = -32603
"""The code of an error that has none."""
LONGEST_ERROR = 300


class Flood(Exception):
    """An agent that sends more than any agent needs to."""


class AgentWire:
    """A transport of the library `acp`: one JSON object a line.

    `hear` gets the params of each notification of `HEARD`, in order; all other messages are the library's. `flooded`
    is called once when a limit is passed, and nothing is read any more. Lines that are no JSON objects are passed over;
    the first of them is kept.
    """

    def __init__(
        self, process: KeptProcess, hear: Callable[[Any], None], flooded: Callable[[str], None], cleaner: TextCleaner
    ) -> None:
        self._process = process
        self._cleaner = cleaner
        self._hear = hear
        self._flooded = flooded
        self._buffer = bytearray()
        self._bytes = self._messages = 0
        self._closed = False
        self.first_garbage = ""

    async def send(self, message: dict[str, Any]) -> None:
        if self._closed:
            raise ConnectionError("the agent's pipe is closed")
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        await self._process.stdin.drain()

    async def receive(self) -> dict[str, Any] | None:
        """Return the next message for the library; None at the end."""
        try:
            while (line := await self._line()) is not None:
                if (message := self._parsed(line)) is None:
                    continue
                if message.get("method") in HEARD and "id" not in message:
                    self._hear(message.get("params"))
                elif "method" in message or is_response(message):
                    return message
        except Flood as err:
            self._flooded(str(err))
        return None

    async def close(self) -> None:
        self._closed = True

    async def _line(self) -> bytes | None:
        """Read a line; None at the end. Raises Flood."""
        searched = 0
        while (end := self._buffer.find(b"\n", searched)) < 0 and len(self._buffer) <= MOST_MESSAGE:
            searched = len(self._buffer)
            data = await self._process.stdout.read(CHUNK)
            if not data:
                return None
            self._bytes += len(data)
            if self._bytes > MOST_BYTES:
                raise Flood(f"more than {MOST_BYTES >> 20} MiB of messages")
            self._buffer += data
        if not 0 <= end <= MOST_MESSAGE:
            raise Flood(f"a message of more than {MOST_MESSAGE >> 20} MiB")
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        self._messages += 1
        if self._messages > MOST_MESSAGES:
            raise Flood(f"more than {MOST_MESSAGES:,} messages")
        await asyncio.sleep(0)  # what is already here must not keep the daemon from its other work
        return line

    def _parsed(self, line: bytes) -> dict[str, Any] | None:
        try:
            found = self._cleaner.message(line)
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, dict):
            return found
        if line.strip():
            self.first_garbage = self.first_garbage or self._cleaner.text(line.decode(errors="replace"))[:200]
        return None


def is_response(message: dict[str, Any]) -> bool:
    """Return whether the library can take a message as a response; an error of another form becomes one of its own."""
    if type(message.get("id")) is not int:
        return False
    if "error" in message and not isinstance(message["error"], dict) and "result" not in message:
        message["error"] = {"code": INTERNAL, "message": str(message["error"])[:LONGEST_ERROR]}
    return True
