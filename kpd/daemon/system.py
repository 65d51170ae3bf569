"""Wraps the operating system's services: one daemon per workspace, the user of a connection, messages to systemd."""

import logging
import os
import socket
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kpd.workspace.locks import try_lock


class AlreadyRunning(Exception):
    """An error because another daemon holds the workspace; `pid` is None while that has not written its number yet."""

    def __init__(self, pid: int | None) -> None:
        who = f"process {pid}" if pid is not None else "another process"
        super().__init__(f"a daemon runs already for this workspace ({who}); kpd attach, or kpd shutdown to end it")
        self.pid = pid


@contextmanager
def hold_lock(path: Path) -> Iterator[None]:
    """Run the block with the lock that only one process can hold. Raises AlreadyRunning, OSError.

    The kernel drops the lock with the process, so nothing is left to clean up after a crash. The file itself stays:
    removing it would let two daemons lock two files of one name. No decision about the lock uses the number in it.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if not try_lock(descriptor):
            raise AlreadyRunning(_number(descriptor))
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _number(descriptor: int) -> int | None:
    text = os.pread(descriptor, 32, 0).strip()
    return int(text) if text.isdigit() else None


def peer(connection: socket.socket) -> tuple[int, int]:
    """Return the pid and the user id of the connected process, as the kernel knows them. Raises OSError.

    The pid is 0 where the kernel does not say it.
    """
    if sys.platform == "linux":
        pid, uid, _gid = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        return int(pid), int(uid)
    # macOS and the BSDs: LOCAL_PEERCRED (1) at level SOL_LOCAL (0) gives struct xucred, which begins with its version
    # and the effective user id.
    _version, uid = struct.unpack("II", connection.getsockopt(0, 1, 76)[:8])
    return 0, int(uid)


log = logging.getLogger(__name__)


def ready() -> None:
    """Tell systemd that the daemon listens."""
    _send("READY=1")


def stopping() -> None:
    """Tell systemd that the daemon is ending."""
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
