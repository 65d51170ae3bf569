"""Parses ssh addresses: an alias, [user@]host[:port] or ssh://[user@]host[:port]."""

import re
from dataclasses import dataclass

# A name must not be read as an option by ssh, or as code by the shell that runs a ProxyCommand.
HOST = re.compile(r"(?!-)[^][\s\x00-\x1f\x7f'\"`$\\;&<>|(){},]{1,255}")
USER = re.compile(r"(?!-)[^\s\x00-\x1f\x7f'\"`;&<>|(){}]{1,255}")


@dataclass(frozen=True, slots=True)
class Address:
    """The parts of an ssh address. With an empty `user` or a `port` of 0, ssh's own configuration decides."""

    host: str
    user: str = ""
    port: int = 0

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Parse an address; an IPv6 address with a port is written [address]:port. Raises ValueError."""
        rest = text.strip()
        if rest.lower().startswith("ssh://"):
            rest = rest[len("ssh://") :].removesuffix("/")
        user, at, rest = rest.rpartition("@")
        found = re.fullmatch(r"\[([^][]+)\](?::(\d{1,5}))?|([^:]+)(?::(\d{1,5}))?|([^][]*:[^][]*:[^][]*)", rest)
        host = (found[1] or found[3] or found[5]) if found else ""
        port = int(found[2] or found[4] or 0) if found else 0
        named = text.isprintable() and HOST.fullmatch(host) and (not at or USER.fullmatch(user))
        if not named or port > 65535:
            raise ValueError(f"{text!r} is not an address: [user@]host[:port]")
        return cls(host, user, port)
