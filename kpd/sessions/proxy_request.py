"""Reads the one request that a client sends to a proxy."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from kpd.workspace.endpoints import Endpoint, endpoint

HOP = ("connection", "host", "keep-alive", "proxy-authorization", "proxy-connection", "te", "trailer", "upgrade")
"""Fields that are between client and proxy, or that the proxy writes itself."""


class BadRequest(Exception):
    """The error that a request is none that a proxy can answer."""


@dataclass(frozen=True, slots=True)
class ProxyRequest:
    """Where a client wants to be connected; `head` is what is sent there first, empty where it speaks for itself."""

    to: Endpoint
    head: bytes = b""


def read_request(head: bytes) -> ProxyRequest:
    """Read the head of a request: `CONNECT name:port`, or a method with a URL of `http`. Raises BadRequest.

    The head ends at its first empty line; what comes after that is not sent on.
    A request with a URL becomes one to its host, which is told to close the connection after it: any other request on
    that connection would go to the same host.
    """
    line, *fields = head.partition(b"\r\n\r\n")[0].split(b"\r\n")
    try:
        method, target, version = line.decode("ascii").split(" ")
        if method == "CONNECT" and "//" not in target and target.rpartition(":")[2].isdecimal():
            return ProxyRequest(endpoint(target))
        if (
            method == "CONNECT"
            or not target.startswith("http://")
            or version not in ("HTTP/1.0", "HTTP/1.1")
            or not method.isalpha()
        ):
            raise ValueError(f"{method[:20]} is not for a proxy")
        to = endpoint(target)
    except ValueError as err:
        raise BadRequest(f"no request for a proxy: {err}") from err
    url = urlsplit(target)
    path = f"{url.path or '/'}?{url.query}" if url.query else url.path or "/"
    kept = [field for field in fields if field.partition(b":")[0].strip().lower().decode("latin-1") not in HOP]
    first = f"{method} {path} {version}\r\nHost: {to}\r\nConnection: close".encode()
    return ProxyRequest(to, b"\r\n".join((first, *kept, b"\r\n")))
