"""A scripted stand-in for the model service behind Codex: the Responses API, as a stream of events."""

import contextlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Step = str | tuple[str, dict[str, Any]]
"""A text to say, or a tool's name with its arguments."""


class CodexService:
    """`asked` are the questions. The answer to the question number `hold_at` waits for `go_on`."""

    def __init__(self, steps: list[Step]) -> None:
        self.steps = steps
        self.asked: list[dict[str, Any]] = []
        self.keys: set[str] = set()
        self.hold_at = 0
        self.go_on = threading.Event()
        self.url = ""

    def next(self, body: dict[str, Any]) -> Step:
        if not body.get("tools"):
            return "a title"
        self.asked.append(body)
        if len(self.asked) == self.hold_at:
            self.go_on.wait(60)
        return self.steps[len(self.asked) - 1] if len(self.asked) <= len(self.steps) else "nothing more to do"


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


@contextmanager
def serving(*steps: Step) -> Iterator[CodexService]:
    """The service, in threads of its own."""
    service = CodexService(list(steps))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])) or b"{}")
            service.keys.add(str(self.headers.get("authorization")).removeprefix("Bearer "))
            told = list(events(service.next(body), len(service.asked)))
            data = b"".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in told)
            self._send("text/event-stream", data)

        def do_GET(self) -> None:
            self._send("application/json", b'{"models": [], "data": []}')

        def _send(self, kind: str, data: bytes) -> None:
            with contextlib.suppress(ConnectionError):  # the agent was killed meanwhile
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    service.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield service
    finally:
        service.go_on.set()
        server.shutdown()
        server.server_close()
