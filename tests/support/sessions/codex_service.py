"""A scripted stand-in for the model service behind Codex: the Responses API, as a stream of events."""

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

from tests.support.sessions.service import ScriptedService, Step, served, stream


class CodexService(ScriptedService):
    def answer(self, path: str, body: dict[str, Any]) -> tuple[str, bytes]:
        return stream(list(events(self.next(body), len(self.asked))))

    def listed(self) -> dict[str, Any]:
        return {"models": [], "data": []}


def serving(*steps: Step) -> AbstractContextManager[CodexService]:
    return served(CodexService(*steps))


def events(step: Step, number: int) -> Iterator[dict[str, Any]]:
    yield {"type": "response.created", "response": {"id": f"resp_{number}"}}
    if isinstance(step, str):
        content = [{"type": "output_text", "text": step}]
        item = {"type": "message", "id": f"msg_{number}", "role": "assistant", "content": content}
    else:
        name, arguments = step
        namespace, _, tool = name.rpartition(".")
        item = {"type": "function_call", "name": tool, "arguments": json.dumps(arguments), "call_id": f"call_{number}"}
        item |= {"namespace": namespace} if namespace else {}
    yield {"type": "response.output_item.done", "item": item}
    usage = {"input_tokens": 100, "input_tokens_details": None, "output_tokens": 50, "output_tokens_details": None}
    yield {"type": "response.completed", "response": {"id": f"resp_{number}", "usage": {**usage, "total_tokens": 150}}}
