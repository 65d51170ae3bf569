"""Tell systemd (`Type=notify`) how the daemon is doing; nothing happens where nobody asked."""

import logging
import os
import socket

log = logging.getLogger(__name__)


def ready() -> None:
    """The daemon listens."""
    _send("READY=1")


def stopping() -> None:
    """The daemon is on its way out."""
    _send("STOPPING=1")


def _send(state: str) -> None:
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    if address.startswith("@"):  # Linux's abstract namespace
        address = "\0" + address[1:]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
        try:
            out.sendto(state.encode(), address)
        except OSError as err:
            log.warning("cannot tell systemd %s: %s", state, err)
