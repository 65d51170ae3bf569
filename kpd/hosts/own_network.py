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
"""Seconds for a process to show that this works here."""


def isolate(ports: Sequence[int]) -> list[socket.socket]:
    """Leave the network for good, and return a listener on each of these ports of the new loopback.

    Nothing that this process starts gets back. Raises OSError where the system gives no namespace; the process must
    have one thread only.
    """
    user, group = os.geteuid(), os.getegid()
    if LIBC is None or LIBC.unshare(NEW_USER | NEW_NETWORK) != 0:
        raise OSError("this system gives no network namespace")
    for name, line in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        Path("/proc/self", name).write_text(line)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SET_FLAGS, struct.pack("16sH22x", b"lo", UP))
    return [socket.create_server(("127.0.0.1", port)) for port in ports]


@functools.lru_cache(maxsize=1)
def can_isolate() -> bool:
    """Return whether a process of this machine can leave the network: a container or a system's rule may forbid it."""
    null = subprocess.DEVNULL
    try:
        argv = [sys.executable, "-P", "-m", "kpd.hosts.own_network"]
        return subprocess.run(argv, stdin=null, stdout=null, stderr=null, timeout=TRIAL_S).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


if __name__ == "__main__":
    isolate((0,))
