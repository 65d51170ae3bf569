"""Reads the name of the server that a client of TLS asks for, which its first message says before all is encrypted."""

import ssl

HANDSHAKE = b"\x16"
"""The first byte of a client's first message, as no text begins with it."""


class BadHello(Exception):
    """The error that a client's first bytes begin no TLS, or not with `name`; `answer` is what tells the client so."""

    def __init__(self, why: str, name: str = "", answer: bytes = b"") -> None:
        super().__init__(why)
        self.name = name
        self.answer = answer


class ClientHello:
    """A client's first message, as it comes in; OpenSSL reads it, and limits its length."""

    def __init__(self, name: str) -> None:
        """Expect a client that asks for the server `name`."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.sni_callback = self._asked
        self._said, self._answer = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._server = context.wrap_bio(self._said, self._answer, server_side=True)
        self._name = name
        self._found: str | None = None

    def fits(self, data: bytes) -> bool:
        """Take more of the message; return whether it is whole. Raises BadHello."""
        self._said.write(data)
        try:
            self._server.do_handshake()
        except ssl.SSLWantReadError:
            return False
        except ssl.SSLError as err:
            if self._found is None:
                raise BadHello(f"no message of TLS: {err.reason}", answer=self._answer.read()) from err
        if self._found == self._name:
            return True
        raise BadHello(f"it asks for {self._found or 'no name'}", self._found or "", self._answer.read())

    def _asked(self, server: ssl.SSLObject, name: str | None, context: ssl.SSLContext) -> int:
        self._found = (name or "").lower().rstrip(".")
        return ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME  # which ends this handshake: there is no certificate for one
