"""What a client of TLS says first."""

import contextlib
import ssl

UNKNOWN_NAME = b"\x15\x03\x03\x00\x02\x02\x70"
"""The alert by which a server says that it has not the name that was asked for."""


def hello_of(name: str) -> bytes:
    """The first message of a real client that asks for the server `name`, or for none."""
    context = ssl.create_default_context()
    context.check_hostname = False
    heard, said = ssl.MemoryBIO(), ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        context.wrap_bio(heard, said, server_hostname=name or None).do_handshake()
    return said.read()
