"""Servers on loopback that keep what they are sent: a webhook's, and a mail server's."""

import socketserver
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID


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
    """`lines` are all lines that it was sent, `secret` those of them over TLS; it takes every mail and every login.

    With `certificate`, a file with certificate and key, it offers STARTTLS.
    """

    allow_reuse_address = True

    def __init__(self, certificate: Path | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Mail)
        self.certificate = certificate
        self.lines: list[str] = []
        self.secret: list[str] = []

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"


class _Mail(socketserver.StreamRequestHandler):
    server: MailServer

    def handle(self) -> None:
        self._say("220 ready")
        in_data = safe = False
        while raw := self.rfile.readline():
            said = raw.decode().rstrip("\r\n")
            self.server.lines.append(said)
            self.server.secret += [said] if safe else []
            word = said.upper().partition(" ")[0]
            if in_data:
                in_data = said != "."
                if not in_data:
                    self._say("250 taken")
            elif word == "EHLO":
                self._say("250-here")
                self._say("250 AUTH PLAIN" if safe or self.server.certificate is None else "250 STARTTLS")
            elif word == "STARTTLS":
                self._say("220 go on")
                self._secure()
                safe = True
            else:
                in_data = word == "DATA"
                self._say({"DATA": "354 go on", "QUIT": "221 bye", "AUTH": "235 welcome"}.get(word, "250 ok"))

    def _secure(self) -> None:
        assert self.server.certificate is not None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.server.certificate)
        secured = context.wrap_socket(self.request, server_side=True)
        self.rfile, self.wfile = secured.makefile("rb"), secured.makefile("wb", 0)

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


def key_and_certificate() -> bytes:
    """Return a key and its own certificate for 127.0.0.1, in PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    made = made.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    there = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    held = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return held + made.add_extension(there, critical=False).sign(key, SHA256()).public_bytes(Encoding.PEM)
