"""Gives this process terminals of its own: those of its users stay out of its reach. Linux only; it needs no privilege.

A terminal is opened by `/dev/ptmx`, which takes it from the file system at `/dev/pts`. Mounted there for this process
alone, a new one holds no terminal but those that are opened in it.
"""

import os

from kpd.hosts.helper.children import LIBC
from kpd.hosts.own_network import NEW_USER, enter

NEW_MOUNTS = 0x20000  # of unshare(2)
NO_SETUID, NO_EXECUTE, SLAVE = 0x2, 0x8, 0x84000  # of mount(2); the last for all mounts below
MOST = 64
"""Terminals that can be open at a time."""
TERMINALS = ("/dev/ptmx", "/dev/pts", "/dev/tty")
"""What a sandbox has to open; `/dev/tty` is whichever terminal a process has."""


def own_terminals() -> tuple[str, ...]:
    """Have this process, and all that it starts, open terminals in a place of its own; return `TERMINALS`.

    Nothing where the system does not give that, and then nothing of this process is changed: a child tries it first, as
    some systems give a namespace of users and then refuse the rest. The process must have one thread only.
    """
    if (trial := os.fork()) == 0:
        try:
            os._exit(0 if _enter() else 1)
        finally:
            os._exit(1)
    return TERMINALS if os.waitpid(trial, 0)[1] == 0 and _enter() else ()


def _enter() -> bool:
    try:
        enter(NEW_USER | NEW_MOUNTS)
    except OSError:
        return False
    assert LIBC is not None
    options = f"newinstance,ptmxmode=0666,mode=600,max={MOST}".encode()
    if LIBC.mount(None, b"/", None, SLAVE, None) != 0:  # else the mount might be seen outside
        return False
    return bool(LIBC.mount(b"devpts", b"/dev/pts", b"devpts", NO_SETUID | NO_EXECUTE, options) == 0)
