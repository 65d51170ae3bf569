"""Gives this process a network of its own, which has a loopback and nothing else. Linux only; it needs no privilege.

A socket stays in the network in which it was made. So a process outside that is handed a listener of this one can
accept on it, and is the only way out for all that runs inside.
"""

import fcntl
import functools
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from kpd.hosts.helper.children import LIBC

NEW_USER, NEW_NETWORK = 0x10000000, 0x40000000  # of unshare(2): the first gives the right to the second
SET_FLAGS, UP = 0x8914, 1  # of netdevice(7)
TRIAL_S = 10.0
NOT_GIVEN = 3
"""Seconds for a process to show that this works here, and its exit status where it does not."""


def isolate(ports: Sequence[int]) -> list[socket.socket]:
    """Leave the network for good, and return a listener on each of these ports of the new loopback.

    Nothing that this process starts gets back. Raises OSError where the system gives no namespace; the process must
    have one thread only.
    """
    enter(NEW_USER | NEW_NETWORK)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SET_FLAGS, struct.pack("16sH22x", b"lo", UP))
    return [socket.create_server(("127.0.0.1", port)) for port in ports]


def enter(namespaces: int) -> None:
    """Leave namespaces for new ones, one of users among them, in which this user has the same name. Raises OSError."""
    user, group = os.geteuid(), os.getegid()
    if LIBC is None or LIBC.unshare(namespaces) != 0:
        raise OSError("this system gives no such namespace")
    for name, line in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        Path("/proc/self", name).write_text(line)


@functools.lru_cache(maxsize=1)  # which keeps no exception
def can_isolate() -> bool:
    """Return whether a process of this machine can leave the network: a container or a system's rule may forbid it.

    Raises OSError where a trial shows neither, as on a machine that is too busy; the next call tries again.
    """
    null = subprocess.DEVNULL
    argv = [sys.executable, "-P", "-m", "kpd.hosts.own_network"]
    try:
        status = subprocess.run(argv, stdin=null, stdout=null, stderr=null, timeout=TRIAL_S).returncode
    except subprocess.TimeoutExpired as err:
        raise TimeoutError(
            f"whether this machine gives a network namespace was not found out in {TRIAL_S:g} s"
        ) from err
    if status not in (0, NOT_GIVEN):
        raise OSError(
            f"whether this machine gives a network namespace was not found out: the trial ended with {status}"
        )
    return status == 0


if __name__ == "__main__":
    try:
        isolate((0,))
    except OSError:
        sys.exit(NOT_GIVEN)
