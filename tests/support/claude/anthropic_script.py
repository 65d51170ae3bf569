"""What the scripted model service can be told to do with a request, and the bytes in which it does it."""

import asyncio
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from kpd.claude.tokens import tokens
from tests.support.claude.anthropic_cache import Charge


@dataclass(frozen=True)
class Asked:
    """One request as it came."""

    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def system(self) -> list[str]:
        return [block["text"] for block in self.body.get("system", [])]

    @property
    def turns(self) -> list[str]:
        """The texts of the conversation: the user's, the assistant's, …"""
        return [turn["content"] for turn in self.body["messages"]]


@dataclass(frozen=True)
class Reply:
    """A whole answer, `chunk` characters an event. One that is longer than max_tokens allows is cut there.

    `thinking` characters are thought first, and billed. `usage` replaces single counts of the service's own.
    """

    text: str
    stop: str = "end_turn"
    chunk: int = 40
    thinking: int = 0
    usage: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Status:
    """An error instead of an answer."""

    status: int
    kind: str = "api_error"
    message: str = "scripted"
    code: str = ""
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Broken:
    """An answer that ends, after some of its events, in a way of `how`.

    cut: the connection goes. close: the body ends, well-formed, in the middle of the answer. stall: nothing more comes,
    until the client goes. error: an error event. garbage: an event that is not JSON; shape: JSON that is no event.

    `thinking` characters are thought first, in one event.
    """

    how: str
    text: str = "some words that came before the end"
    after: int = 4
    chunk: int = 8
    kind: str = "overloaded_error"
    thinking: int = 0


@dataclass(frozen=True)
class Held:
    """An answer that waits after some of its events until `release` is set."""

    release: asyncio.Event
    text: str = "late"
    after: int = 1
    chunk: int = 8


Behaviour = Reply | Status | Broken | Held
Script = Iterable[Behaviour] | Callable[[Asked], Behaviour]


def refusal(said: Status) -> bytes:
    """A whole response that is an error."""
    error: dict[str, Any] = {"type": said.kind, "message": said.message}
    if said.code:
        error["details"] = {"error_code": said.code}
    body = json.dumps({"type": "error", "error": error, "request_id": "req_test"}).encode()
    headers = {"content-type": "application/json", "content-length": str(len(body)), **said.headers}
    lines = [f"HTTP/1.1 {said.status} Scripted", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    return "\r\n".join(lines).encode() + body


def events_of(behaviour: Reply | Broken | Held, asked: Asked, charge: Charge) -> list[bytes]:
    """The events of an answer to its end."""
    match behaviour:
        case Reply():
            reply = behaviour
        case Broken():
            reply = Reply(behaviour.text, chunk=behaviour.chunk, thinking=behaviour.thinking)
        case Held():
            reply = Reply(behaviour.text, chunk=behaviour.chunk)
    text, stop = reply.text, reply.stop
    thought = min(tokens("x" * reply.thinking), asked.body["max_tokens"])
    room = asked.body["max_tokens"] - thought
    if isinstance(behaviour, Reply) and tokens(text) > room:
        text, stop = text.encode()[: max(room, 0) * 2].decode(errors="ignore"), "max_tokens"
    start_usage = {
        "input_tokens": charge.input,
        "cache_creation_input_tokens": charge.cache_write,
        "cache_read_input_tokens": charge.cache_read,
        "output_tokens": 1,
    }
    message = {
        "id": "msg_test", "type": "message", "role": "assistant", "content": [], "model": asked.body["model"],
        "stop_reason": None, "stop_sequence": None, "usage": start_usage | reply.usage,
    }  # fmt: skip
    events: list[dict[str, Any]] = [{"type": "message_start", "message": message}, {"type": "ping"}]
    deltas = [("text", "text_delta", text[at : at + reply.chunk]) for at in range(0, len(text), reply.chunk)]
    blocks_of = [("text", deltas)]
    if reply.thinking:
        blocks_of.insert(0, ("thinking", [("thinking", "thinking_delta", "x" * reply.thinking)]))
    for index, (kind, pieces) in enumerate(blocks_of):
        block = {"type": kind, kind: ""} | ({"signature": ""} if kind == "thinking" else {})
        events.append({"type": "content_block_start", "index": index, "content_block": block})
        events += [
            {"type": "content_block_delta", "index": index, "delta": {"type": name, key: piece}}
            for key, name, piece in pieces
        ]
        events.append({"type": "content_block_stop", "index": index})
    end_usage = {"output_tokens": max(tokens(text) + thought, 1)} | reply.usage
    events.append({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": end_usage})
    events.append({"type": "message_stop"})
    return [_event(one["type"], json.dumps(one)) for one in events]


def last_words(broken: Broken) -> list[bytes]:
    """What breaks an answer, where it is something that is said."""
    error = {"type": "error", "error": {"type": broken.kind, "message": "in mid-stream"}}
    said = {
        "close": [],
        "error": [("error", json.dumps(error))],
        "garbage": [("content_block_delta", '{"type": "content_block_delta", "ind')],
        "shape": [("content_block_delta", '{"type": "content_block_delta", "delta": 7}')],
    }
    return [_event(kind, data) for kind, data in said[broken.how]]


def _event(kind: str, data: str) -> bytes:
    return f"event: {kind}\ndata: {data}\n\n".encode()
