"""A scripted stand-in for the model service behind Claude Code: its answers may use tools, in any number of steps.

`anthropic_server` stands in for the service as kpd itself asks it; this one takes what a coding agent sends: tools,
results of tools, several conversations at once (a title, a summary), and answers each main question with the next step.
"""

import contextlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MAIN_TOOL = "Bash"
"""A tool that only the main conversation has."""


class ClaudeService:
    """`steps` are answers: a string to say, or a tuple (tool, input) to use one. `asked` are the main questions.

    The answer to the question number `hold_at` waits for `go_on`.
    """

    def __init__(self, steps: list[str | tuple[str, dict[str, Any]]]) -> None:
        self.steps = steps
        self.asked: list[dict[str, Any]] = []
        self.keys: set[str] = set()
        self.hold_at = 0
        self.go_on = threading.Event()
        self.url = ""

    def next(self, body: dict[str, Any]) -> str | tuple[str, dict[str, Any]]:
        if MAIN_TOOL not in [tool.get("name") for tool in body.get("tools", [])]:
            return "a title"
        self.asked.append(body)
        if len(self.asked) == self.hold_at:
            self.go_on.wait(60)
        return self.steps[len(self.asked) - 1] if len(self.asked) <= len(self.steps) else "nothing more to do"


def events(step: str | tuple[str, dict[str, Any]], model: str, number: int) -> Iterator[tuple[str, dict[str, Any]]]:
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


@contextmanager
def serving(*steps: str | tuple[str, dict[str, Any]]) -> Iterator[ClaudeService]:
    """The service, in threads of its own."""
    service = ClaudeService(list(steps))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])) or b"{}")
            service.keys.add(str(self.headers.get("x-api-key")))
            if not self.path.startswith("/v1/messages") or "count_tokens" in self.path:
                self._whole({"input_tokens": 100})
                return
            told = list(events(service.next(body), body["model"], len(service.asked)))
            data = b"".join(
                f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode() for kind, fields in told
            )
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("content-length", str(len(data)))
            with contextlib.suppress(ConnectionError):  # the agent was killed meanwhile
                self.end_headers()
                self.wfile.write(data)

        def do_GET(self) -> None:
            self._whole({})

        def do_HEAD(self) -> None:
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def _whole(self, found: dict[str, Any]) -> None:
            data = json.dumps(found).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    service.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield service
    finally:
        service.go_on.set()
        server.shutdown()
        server.server_close()
