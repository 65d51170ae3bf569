"""Servers on loopback that keep what they are sent: a webhook's, and a mail server's."""

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any


class Webhook(HTTPServer):
    """`taken` are path, headers and body of each request; `answer` is the status that it gives."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Request)
        self.taken: list[tuple[str, dict[str, str], bytes]] = []
        self.answer = 200

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Request(BaseHTTPRequestHandler):
    server: Webhook

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.taken.append((self.path, dict(self.headers), body))
        self.send_response(self.server.answer)
        if self.server.answer == 302:
            self.send_header("Location", f"{self.server.url}/elsewhere")
        self.end_headers()

    def do_GET(self) -> None:
        self.do_POST()

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


class MailServer(socketserver.TCPServer):
    """`lines` are all lines that it was sent; it takes every mail."""

    allow_reuse_address = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Mail)
        self.lines: list[str] = []

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"


class _Mail(socketserver.StreamRequestHandler):
    server: MailServer

    def handle(self) -> None:
        self._say("220 ready")
        in_data = False
        for raw in self.rfile:
            said = raw.decode().rstrip("\r\n")
            self.server.lines.append(said)
            if in_data:
                in_data = said != "."
                if not in_data:
                    self._say("250 taken")
            elif said.upper() == "DATA":
                in_data = True
                self._say("354 go on")
            else:
                self._say("221 bye" if said.upper() == "QUIT" else "250 ok")

    def _say(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())


@contextmanager
def served(server: Webhook | MailServer) -> Iterator[None]:
    """Serve in a thread until the end of the block."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
