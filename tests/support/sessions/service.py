"""A scripted stand-in for a model service: the HTTP around the answers of one kind of service."""

import contextlib
import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeVar

from tests.support.patience import PATIENCE_S

Step = str | tuple[str, dict[str, Any]]
"""A text to say, or a tool's name with its arguments."""


class ScriptedService(ABC):
    """`steps` are the answers to the main questions, which are in `asked`; `keys` are those that came with questions.

    The answer to the question number `hold_at` waits for `go_on`. With a `status` that is not 200 it refuses all.
    """

    key_header = "authorization"

    def __init__(self, *steps: Step) -> None:
        self.steps = steps
        self.asked: list[dict[str, Any]] = []
        self.keys: set[str] = set()
        self.hold_at = 0
        self.status = 200
        self.go_on = threading.Event()
        self.url = ""

    def is_main(self, body: dict[str, Any]) -> bool:
        """Whether a question is one of the conversation, and not for a title or a summary."""
        return bool(body.get("tools"))

    @abstractmethod
    def answer(self, path: str, body: dict[str, Any]) -> tuple[str, bytes]:
        """The type and the content of the answer to a question."""

    def listed(self) -> dict[str, Any]:
        """What is answered where nothing is asked of a model."""
        return {}

    def next(self, body: dict[str, Any]) -> Step:
        if not self.is_main(body):
            return "a title"
        self.asked.append(body)
        if len(self.asked) == self.hold_at:
            self.go_on.wait(PATIENCE_S)
        return self.steps[len(self.asked) - 1] if len(self.asked) <= len(self.steps) else "nothing more to do"


S = TypeVar("S", bound=ScriptedService)


@contextmanager
def served(service: S) -> Iterator[S]:
    """The service, in threads of its own."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])) or b"{}")
            service.keys.add(str(self.headers.get(service.key_header)).removeprefix("Bearer "))
            if service.status == 200:
                self._send(*service.answer(self.path, body))
            else:
                told = {"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}}
                self._send("application/json", json.dumps(told).encode())

        def do_GET(self) -> None:
            self._send("application/json", json.dumps(service.listed()).encode())

        def do_HEAD(self) -> None:
            self._send("application/json", b"")

        def _send(self, kind: str, data: bytes) -> None:
            with contextlib.suppress(ConnectionError):  # the agent was killed meanwhile
                self.send_response(service.status)
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


def stream(told: list[dict[str, Any]], named: bool = True) -> tuple[str, bytes]:
    """An answer as a stream of events, each `named` by its type where the service does so."""
    names = [f"event: {one['type']}\n" if named else "" for one in told]
    data = "".join(f"{name}data: {json.dumps(one)}\n\n" for name, one in zip(names, told, strict=True))
    return "text/event-stream", data.encode()
