"""A scripted stand-in for the model service behind Claude Code: the Messages API, whose answers may use tools.

`anthropic_server` stands in for the service as kpd itself asks it; this one takes what a coding agent sends: tools,
results of tools, several conversations at once (a title, a summary), and answers each main question with the next step.
"""

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

from tests.support.sessions.service import ScriptedService, Step, served, stream

MAIN_TOOL = "bash"
"""A tool that only the main conversation has."""


class ClaudeService(ScriptedService):
    key_header = "x-api-key"

    def is_main(self, body: dict[str, Any]) -> bool:
        return MAIN_TOOL in [str(tool.get("name")).lower() for tool in body.get("tools", [])]

    def answer(self, path: str, body: dict[str, Any]) -> tuple[str, bytes]:
        if not path.startswith("/v1/messages") or "count_tokens" in path:
            return "application/json", b'{"input_tokens": 100}'
        told = events(self.next(body), body["model"], len(self.asked))
        return stream([{"type": kind, **fields} for kind, fields in told])


def serving(*steps: Step) -> AbstractContextManager[ClaudeService]:
    return served(ClaudeService(*steps))


def events(step: Step, model: str, number: int) -> Iterator[tuple[str, dict[str, Any]]]:
    usage = {"input_tokens": 100, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 1}
    message = {
        "id": f"msg_{number}", "type": "message", "role": "assistant", "content": [], "model": model,
        "stop_reason": None, "stop_sequence": None, "usage": usage,
    }  # fmt: skip
    yield "message_start", {"message": message}
    if isinstance(step, str):
        yield "content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}
        yield "content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": step}}
    else:
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": step[0], "input": {}}
        yield "content_block_start", {"index": 0, "content_block": block}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(step[1])}
        yield "content_block_delta", {"index": 0, "delta": delta}
    yield "content_block_stop", {"index": 0}
    stop = "end_turn" if isinstance(step, str) else "tool_use"
    yield "message_delta", {"delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": 50}}
    yield "message_stop", {}
