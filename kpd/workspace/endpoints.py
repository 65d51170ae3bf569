"""Reads addresses in the network: a host's name and a port."""

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

ANYWHERE = "*"
"""Stands for all addresses."""
PORTS = {"http": 80, "https": 443, "": 443}
"""The port of an address that has none, by the scheme of its URL."""
NAME = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]{0,251}[a-z0-9_])?")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A host, by its name in lower case or its IP, and a TCP port."""

    host: str
    port: int

    @property
    def here(self) -> bool:
        """Whether it is this machine's loopback."""
        return self.host == "localhost" or (is_ip(self.host) and ipaddress.ip_address(self.host).is_loopback)

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def endpoint(text: str) -> Endpoint:
    """Read `name`, `name:port` or a URL. Raises ValueError."""
    url = urlsplit(text if "://" in text else f"//{text}")
    if not url.scheme and url.netloc != text:
        raise ValueError(f"{text!r} names no host")
    host, port = (url.hostname or "").rstrip("."), PORTS.get(url.scheme)
    if port is None or url.username or not (NAME.fullmatch(host) or is_ip(host)):
        raise ValueError(f"{text!r} names no host")
    return Endpoint(host, url.port if url.port is not None else port)


def is_ip(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def is_inside(ip: str) -> bool:
    """Return whether an IP leads to this machine itself or to its link, as that of no service with a name should."""
    found = ipaddress.ip_address(ip)
    plain = getattr(found, "ipv4_mapped", None) or found
    return plain.is_loopback or plain.is_unspecified or plain.is_link_local
