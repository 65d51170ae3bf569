"""A scripted stand-in for the model service behind Gemini CLI: `generateContent`, as one answer or as a stream."""

import json
from contextlib import AbstractContextManager
from typing import Any

from tests.support.sessions.service import ScriptedService, Step, served


class GeminiService(ScriptedService):
    key_header = "x-goog-api-key"

    def is_main(self, body: dict[str, Any]) -> bool:
        return "functionDeclarations" in json.dumps(body.get("tools", []))

    def answer(self, path: str, body: dict[str, Any]) -> tuple[str, bytes]:
        if "countTokens" in path:
            return "application/json", b'{"totalTokens": 100}'
        told = json.dumps(answered(self.next(body)))
        if "streamGenerateContent" in path:
            return "text/event-stream", f"data: {told}\n\n".encode()
        return "application/json", told.encode()


def serving(*steps: Step) -> AbstractContextManager[GeminiService]:
    return served(GeminiService(*steps))


def answered(step: Step) -> dict[str, Any]:
    part = {"text": step} if isinstance(step, str) else {"functionCall": {"name": step[0], "args": step[1]}}
    usage = {"promptTokenCount": 100, "candidatesTokenCount": 50, "totalTokenCount": 150}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini-scripted"}
